"""The folder of a run: its file names, its logger, and how checkpoints are written."""
