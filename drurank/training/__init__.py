"""What a training method holds: record, evaluation, optimization, stages, checks before a run, checkpoints."""
