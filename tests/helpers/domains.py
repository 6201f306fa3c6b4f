"""A small data set of pictures that come from domains, as the projects of tests/projects read it."""

import torch
from torch.utils.data import Dataset

DOMAINS = 8


class Pictures(Dataset):
    """Pictures ``[1, 6, 6]`` of two classes; in domains 0 and 1 four and three of ten labels are wrong.

    Args:
        seed: of the pictures.
        each: pictures by domain.
    """

    def __init__(self, seed, each=20):
        self.seed, generator = seed, torch.Generator().manual_seed(seed)
        self.domain = torch.arange(DOMAINS).repeat_interleave(each)
        label = torch.randint(2, (DOMAINS * each,), generator=generator)
        noise = torch.randn(len(label), 1, 6, 6, generator=generator)
        self.image = noise + (2.0 * label - 1)[:, None, None, None] * torch.eye(6)
        wrong = torch.rand(len(label), generator=generator) < torch.tensor([0.4, 0.3] + [0.0] * 6)[self.domain]
        self.label = torch.where(wrong, 1 - label, label)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.image[i], self.label[i]
