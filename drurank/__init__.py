"""Train, choose and report classifiers that must serve groups well, above all groups never seen.

After each epoch the training groups are ranked by accuracy and their samples weighted by the rank's discount
(Discounted Rank Upweighting); models are chosen by a discounted cumulative gain over the badly served groups.
"""

from drurank import callbacks, data, losses, methods, metrics, networks, ranking

__version__ = "0.1.0"

__all__ = ["callbacks", "data", "losses", "methods", "metrics", "networks", "ranking"]
