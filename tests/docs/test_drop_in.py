"""The Trainer of transformers with our weights, as docs/tutorials/drop_in.md has it."""

import numpy as np
import pytest
import torch

from blocks import BLOCK
from fits import dru_weights
from reference import cross_entropy
from runs import ROOT


@pytest.fixture(scope="module")
def page():
    """What the blocks about the rule and about the Trainer define; the first, which fits, is left out."""
    text = (ROOT / "docs/tutorials/drop_in.md").read_text(encoding="utf-8")
    names = {"__name__": "drop_in", "torch": torch, "network": torch.nn.Linear(2, 2)}
    for *_, block in BLOCK.findall(text)[1:]:
        exec(compile(block, "drop_in.md", "exec"), names)
    return names


@pytest.fixture
def trainer(page, tmp_path):
    """For 24 rows in 4 groups, and a model of two layers."""
    from transformers import DistilBertConfig, DistilBertForSequenceClassification, TrainingArguments

    torch.manual_seed(0)
    model = DistilBertForSequenceClassification(
        DistilBertConfig(vocab_size=8, max_position_embeddings=4, n_layers=1, n_heads=2, dim=16, hidden_dim=16)
    )
    words = torch.randint(1, 8, (24, 4))
    rows = [{"input_ids": words[row], "labels": int(words[row, 0] > 4 - row % 4), "index": row} for row in range(24)]
    arguments = TrainingArguments(
        tmp_path, num_train_epochs=2, per_device_train_batch_size=8, learning_rate=0.01, use_cpu=True,
        remove_unused_columns=False, report_to="none", save_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    made = page["WeightedTrainer"](model=model, args=arguments, train_dataset=rows, weight=torch.ones(24))
    made.add_callback(page["Reweight"](made, torch.arange(24) % 4))
    return made


def test_weights_are_those_of_the_method(trainer):
    trainer.train()
    found = trainer.predict(trainer.train_dataset)
    correct = found.predictions.argmax(-1) == found.label_ids
    assert 0 < correct.sum() < 24
    wanted = dru_weights(correct, np.arange(24) % 4)
    assert wanted.max() > 1
    np.testing.assert_allclose(trainer.weight.numpy(), wanted, rtol=1e-6)


def test_the_loss_is_weighted_in_training_alone(trainer):
    trainer.weight = torch.arange(24.0)
    rows = [trainer.train_dataset[row] for row in (3, 7)]
    batch = {name: torch.stack([torch.as_tensor(row[name]) for row in rows]) for name in rows[0]}
    model = trainer.model
    for training, weight in ((False, (1, 1)), (True, (3, 7))):
        model.train(training)
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        loss, outputs = trainer.compute_loss(model, dict(batch), return_outputs=True)
        losses = cross_entropy(outputs.logits.detach().numpy(), batch["labels"].numpy())
        assert loss.item() == pytest.approx((losses * weight).mean(), rel=1e-5)
