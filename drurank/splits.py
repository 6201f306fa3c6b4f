"""Names of the parts that data falls into."""

SPLITS = ("train", "id_val", "ood_val", "val", "id_test", "ood_test", "test")
"""Part of a row: *OOD* parts hold groups that training lacks, *ID* parts other rows of training's groups."""
