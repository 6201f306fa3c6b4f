"""Many fits in one: candidates whose networks are alike are trained side by side, their parameters stacked.

Each candidate is a fit of its own, with its trainer, callbacks, checkpoints and files; only the training steps of an
epoch are taken together. ``turns``: fits in threads, of which one runs at a time. ``member``: the place in a trainer's
loop where it waits for the others. ``reasons``: what cannot be stacked. ``structure``: what is alike. ``epoch`` and
``optimizers``: the steps of an epoch for a whole stack. ``engine``: who is stacked with whom.
"""
