"""A trained network as a file that other programs read, with the encoding of its inputs beside it."""
