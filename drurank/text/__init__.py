"""Texts and pretrained encoders: loading, tokenizing and embedding, each done once."""
