"""Texts with pretrained encoders: loaded, cut into tokens once, embedded once."""
