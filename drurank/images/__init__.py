"""Pictures: read as a person would see them, checked, cut to squares, cached, augmented."""
