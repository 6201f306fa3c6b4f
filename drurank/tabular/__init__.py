"""Tables in files, without torch: read, split, and looked at before they are trained on."""
