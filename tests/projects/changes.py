"""What each project changes to use drurank, at each grade: pairs of old lines and what takes their place.

``metric`` logs a criterion; ``rule`` weights the samples by the ranks of their groups; ``rebased`` puts the project's
own module on ours; ``method`` trains the project's network with ours.
"""

IMPORT_RULE = "from drurank import metrics, ranking\n"
IMPORT_OURS = "from drurank.data import GroupedDataset, evaluation_loader\nfrom drurank.methods import DRU\n"
DOMAINS_IMPORT = "from domains import Pictures\n"
MEASURE = "        self.dcg = metrics.GroupDCG(num_groups=8)\n"
BEGIN_RULE = "        self.seen, self.weight = metrics.GroupAccuracy(num_groups=8), torch.ones(8)\n"
END_RULE = """        self.weight = ranking.discounted_weights(ranking.rank_groups(self.seen.compute()), cutoff=100)
        self.seen.reset()
"""
LOG = '        self.log("val_qdcg10", self.dcg)\n'


def rule_hook_before(following):
    return following, f"    def on_train_epoch_end(self):\n{END_RULE}\n{following}"


def after(line, more):
    return line, line + more


PAIRS = {
    "train": "TensorDataset(train.image, train.label)",
    "val": "TensorDataset(val.image, val.label)",
}
WITH_DOMAIN = {name: (old, old.replace(".label)", f".label, {name}.domain)")) for name, old in PAIRS.items()}
GROUPED_SCENES = [
    (f"DataLoader(Scenes({seed})", f"DataLoader(GroupedDataset(rows := Scenes({seed}), rows.pictures.domain)")
    for seed in (0, 1)
]
GROUPED = [(old, f"GroupedDataset({old}, {name}.domain)") for name, old in PAIRS.items()]
FOLDER = "PictureFolder({}, self.transform)"
VAL_LOADER = "DataLoader(self.val_set, batch_size=self.hparams.batch_size)"
GROUPED_FOLDERS = [
    *((FOLDER.format(seed), f"GroupedDataset(rows := {FOLDER.format(seed)}, rows.domains)") for seed in (0, 1)),
    (VAL_LOADER, f"[{VAL_LOADER}, evaluation_loader(self.train_set)]"),
]


CHANGES = {
    "hydra_like": {
        "metric": [
            after(DOMAINS_IMPORT, IMPORT_RULE),
            after("        self.criterion = torch.nn.CrossEntropyLoss()\n", MEASURE),
            (
                '        self.log("val/loss", self.criterion(self(batch["x"]), batch["y"]))\n',
                '        self.log("val/loss", self.criterion(output := self(batch["x"]), batch["y"]))\n'
                '        self.dcg.update(output, batch["y"], batch["domain"])\n' + LOG,
            ),
        ],
        "rule": [
            after(DOMAINS_IMPORT, IMPORT_RULE),
            after("        self.criterion = torch.nn.CrossEntropyLoss()\n", BEGIN_RULE),
            (
                '        loss = self.criterion(self(batch["x"]), batch["y"])\n',
                '        losses = nn.functional.cross_entropy(output := self(batch["x"]), batch["y"], '
                'reduction="none")\n'
                '        self.seen.update(output, batch["y"], batch["domain"])\n'
                '        loss = (self.weight[batch["domain"]] * losses).mean()\n',
            ),
            rule_hook_before("    def configure_optimizers(self):\n"),
        ],
        "rebased": [
            after(DOMAINS_IMPORT, IMPORT_OURS),
            ('{"x": image, "y": label, "domain": self.pictures.domain[i]}', '{"inputs": image, "label": label}'),
            ("class PicturesModule(LightningModule):", "class PicturesModule(DRU):"),
            (
                """    def training_step(self, batch, batch_idx):
        loss = self.criterion(self(batch["x"]), batch["y"])
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val/loss", self.criterion(self(batch["x"]), batch["y"]))

""",
                "",
            ),
            (
                "        self.train, self.val = DomainPictures(0), DomainPictures(1)\n",
                "        rows = DomainPictures(0), DomainPictures(1)\n"
                "        self.train, self.val = (GroupedDataset(one, one.pictures.domain) for one in rows)\n",
            ),
            (
                "        return DataLoader(self.val, self.batch_size)\n",
                "        return [DataLoader(self.val, self.batch_size), evaluation_loader(self.train)]\n",
            ),
        ],
        "method": [
            after(DOMAINS_IMPORT, "from drurank.data import GroupedDataset, evaluation_loader\n"),
            ('"_target_": "PicturesModule",', '"_target_": "drurank.methods.DRU",'),
            ('"net": {', '"network": {'),
            ('{"x": image, "y": label, "domain": self.pictures.domain[i]}', '{"inputs": image, "label": label}'),
            (
                "        self.train, self.val = DomainPictures(0), DomainPictures(1)\n",
                "        rows = DomainPictures(0), DomainPictures(1)\n"
                "        self.train, self.val = (GroupedDataset(one, one.pictures.domain) for one in rows)\n",
            ),
            (
                "        return DataLoader(self.val, self.batch_size)\n",
                "        return [DataLoader(self.val, self.batch_size), evaluation_loader(self.train)]\n",
            ),
        ],
    },
    "torchgeo_like": {
        "metric": [
            after(DOMAINS_IMPORT, IMPORT_RULE),
            after("        self.configure_losses()\n", MEASURE),
            after(
                '        self.log("val_loss", self.criterion(self(batch["image"]), batch["label"]))\n',
                '        self.dcg.update(self(batch["image"]), batch["label"], batch["region"])\n' + LOG,
            ),
        ],
        "rule": [
            after(DOMAINS_IMPORT, IMPORT_RULE),
            after("        self.configure_losses()\n", BEGIN_RULE),
            (
                '        return self.criterion(self(batch["image"]), batch["label"])\n',
                '        losses = nn.functional.cross_entropy(output := self(batch["image"]), batch["label"], '
                'reduction="none")\n'
                '        self.seen.update(output, batch["label"], batch["region"])\n'
                '        return (self.weight[batch["region"]] * losses).mean()\n',
            ),
            rule_hook_before("    def validation_step(self, batch, batch_idx, dataloader_idx=0):\n"),
        ],
        "rebased": [
            after(DOMAINS_IMPORT, IMPORT_OURS),
            (
                '{"image": image, "label": label, "region": self.pictures.domain[i]}',
                '{"inputs": image, "label": label}',
            ),
            ("class ClassificationTask(LightningModule):", "class ClassificationTask(DRU):"),
            (
                """
    def training_step(self, batch, batch_idx, dataloader_idx=0):
        return self.criterion(self(batch["image"]), batch["label"])

    def validation_step(self, batch, batch_idx, dataloader_idx=0):
        self.log("val_loss", self.criterion(self(batch["image"]), batch["label"]))
""",
                "",
            ),
            *GROUPED_SCENES,
            ("    trainer.fit(task, train, val)\n", "    trainer.fit(task, train, [val, evaluation_loader(train)])\n"),
        ],
        "method": [
            after(DOMAINS_IMPORT, IMPORT_OURS),
            (
                "from torch.optim.lr_scheduler import ReduceLROnPlateau\n",
                "from functools import partial\nfrom lightning.pytorch.cli import ReduceLROnPlateau\n",
            ),
            (
                '{"image": image, "label": label, "region": self.pictures.domain[i]}',
                '{"inputs": image, "label": label}',
            ),
            *GROUPED_SCENES,
            (
                "    task = ClassificationTask(lr=1e-2)\n",
                '    follow = partial(ReduceLROnPlateau, monitor="val_loss", patience=0)\n'
                "    task = DRU(network=ClassificationTask().model, optimizer=partial(torch.optim.AdamW, lr=1e-2), "
                "lr_scheduler=follow)\n",
            ),
            ("    trainer.fit(task, train, val)\n", "    trainer.fit(task, train, [val, evaluation_loader(train)])\n"),
        ],
    },
    "lightly_like": {
        "metric": [
            after(DOMAINS_IMPORT, IMPORT_RULE),
            after("        self.criterion = nn.CrossEntropyLoss()\n", MEASURE),
            (
                "        x, y = batch\n        self.validation_step_outputs",
                "        x, y, domain = batch\n        self.dcg.update(self(x), y, domain)\n"
                f"{LOG}        self.validation_step_outputs",
            ),
            WITH_DOMAIN["val"],
        ],
        "rule": [
            after(DOMAINS_IMPORT, IMPORT_RULE),
            after("        self.criterion = nn.CrossEntropyLoss()\n", BEGIN_RULE),
            (
                "        x, y = batch\n        return self.criterion(self(x), y)\n",
                "        x, y, domain = batch\n"
                '        losses = nn.functional.cross_entropy(output := self(x), y, reduction="none")\n'
                "        self.seen.update(output, y, domain)\n"
                "        return (self.weight[domain] * losses).mean()\n",
            ),
            after("    def on_train_epoch_end(self):\n", END_RULE),
            WITH_DOMAIN["train"],
        ],
        "rebased": [
            after(DOMAINS_IMPORT, IMPORT_OURS),
            ("class Classifier(LightningModule):", "class Classifier(DRU):"),
            (
                """    def training_step(self, batch, batch_idx):
        x, y = batch
        return self.criterion(self(x), y)

""",
                "",
            ),
            after("    def on_train_epoch_end(self):\n", "        super().on_train_epoch_end()\n"),
            (
                "        x, y = batch\n        self.validation_step_outputs",
                "        super().validation_step(batch, batch_idx)\n"
                '        x, y = batch["inputs"], batch["label"]\n        self.validation_step_outputs',
            ),
            after("    def on_validation_epoch_end(self):\n", "        super().on_validation_epoch_end()\n"),
            *GROUPED,
            (
                "trainer.fit(model, loader, val_loader)",
                "trainer.fit(model, loader, [val_loader, evaluation_loader(loader)])",
            ),
        ],
        "method": [
            after(DOMAINS_IMPORT, IMPORT_OURS),
            (
                "    model = Classifier(nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.Tanh()))\n",
                "    network = Classifier(nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.Tanh()))\n"
                "    model = DRU(network=network, optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.1))\n",
            ),
            *GROUPED,
            (
                "trainer.fit(model, loader, val_loader)",
                "trainer.fit(model, loader, [val_loader, evaluation_loader(loader)])",
            ),
        ],
    },
    "resnet_like": {
        "metric": [
            after(DOMAINS_IMPORT, IMPORT_RULE),
            after("        self.model = create_model()\n", MEASURE),
            (
                "        x, y = batch\n        output = self(x)\n",
                "        x, y, domain = batch\n        output = self(x)\n        self.dcg.update(output, y, domain)\n"
                '        self.log(f"{stage}_qdcg10", self.dcg)\n',
            ),
            WITH_DOMAIN["val"],
        ],
        "rule": [
            after(DOMAINS_IMPORT, IMPORT_RULE),
            after("        self.model = create_model()\n", BEGIN_RULE),
            (
                "        x, y = batch\n        return F.nll_loss(self(x), y)\n",
                "        x, y, domain = batch\n"
                '        losses = F.nll_loss(output := self(x), y, reduction="none")\n'
                "        self.seen.update(output, y, domain)\n"
                "        return (self.weight[domain] * losses).mean()\n",
            ),
            rule_hook_before("    def evaluate(self, batch, stage):\n"),
            WITH_DOMAIN["train"],
        ],
        "rebased": [
            after(DOMAINS_IMPORT, IMPORT_OURS),
            ("class LitResnet(LightningModule):", "class LitResnet(DRU):"),
            (
                """    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.nll_loss(self(x), y)

    def evaluate(self, batch, stage):
        x, y = batch
        output = self(x)
        self.log(f"{stage}_loss", F.nll_loss(output, y), prog_bar=True)
        self.log(f"{stage}_acc", (output.argmax(dim=1) == y).float().mean(), prog_bar=True)

    def validation_step(self, batch, batch_idx):
        self.evaluate(batch, "val")

""",
                "",
            ),
            *GROUPED,
            (
                "trainer.fit(model, train_loader, val_loader)",
                "trainer.fit(model, train_loader, [val_loader, evaluation_loader(train_loader)])",
            ),
        ],
        "method": [
            after(DOMAINS_IMPORT, f"{IMPORT_OURS}from drurank.training.schedules import CosineDecay\n"),
            (
                "    model = LitResnet(lr=0.05)\n",
                "    optimizer = partial(torch.optim.SGD, lr=0.05, momentum=0.9)\n"
                "    model = DRU(network=create_model(), optimizer=optimizer, lr_scheduler=CosineDecay, "
                'lr_interval="step")\n',
            ),
            ("import torch\nfrom lightning", "from functools import partial\nimport torch\nfrom lightning"),
            *GROUPED,
            (
                "trainer.fit(model, train_loader, val_loader)",
                "trainer.fit(model, train_loader, [val_loader, evaluation_loader(train_loader)])",
            ),
        ],
    },
    "glue_like": {
        "metric": [
            after(DOMAINS_IMPORT, IMPORT_RULE),
            ('"labels": self.labels[i]}', '"labels": self.labels[i], "domain": self.domain[i]}'),
            after("        self.model = make_model(num_labels)\n", MEASURE),
            ("    def forward(self, **inputs):\n", "    def forward(self, domain=None, **inputs):\n"),
            (
                '        self.log("val_loss", self(**batch).loss, prog_bar=True)\n',
                "        output = self(**batch)\n"
                '        self.log("val_loss", output.loss, prog_bar=True)\n'
                '        self.dcg.update(output.logits, batch["labels"], batch["domain"])\n' + LOG,
            ),
        ],
        "rule": [
            after(DOMAINS_IMPORT, IMPORT_RULE),
            ('"labels": self.labels[i]}', '"labels": self.labels[i], "domain": self.domain[i]}'),
            after("        self.model = make_model(num_labels)\n", BEGIN_RULE),
            ("    def forward(self, **inputs):\n", "    def forward(self, domain=None, **inputs):\n"),
            (
                "        return self(**batch).loss\n",
                '        logits, labels, domain = self(**batch).logits, batch["labels"], batch["domain"]\n'
                "        self.seen.update(logits, labels, domain)\n"
                "        return (self.weight[domain] * torch.nn.functional.cross_entropy(logits, labels, "
                'reduction="none")).mean()\n',
            ),
            rule_hook_before("    def validation_step(self, batch, batch_idx, dataloader_idx=0):\n"),
        ],
        "rebased": [
            after(DOMAINS_IMPORT, IMPORT_OURS),
            ("class GLUETransformer(LightningModule):", "class GLUETransformer(DRU):"),
            (
                "    def forward(self, **inputs):\n        return self.model(**inputs)\n",
                "    def forward(self, inputs):\n        return self.model(**inputs).logits\n",
            ),
            (
                """    def training_step(self, batch, batch_idx):
        return self(**batch).loss

    def validation_step(self, batch, batch_idx, dataloader_idx=0):
        self.log("val_loss", self(**batch).loss, prog_bar=True)

""",
                "",
            ),
            (
                "DataLoader(Tokens(seed), batch_size",
                'DataLoader(GroupedDataset(rows := Tokens(seed), rows.domain, label="labels"), batch_size',
            ),
            ("trainer.fit(model, train, val)", "trainer.fit(model, train, [val, evaluation_loader(train)])"),
        ],
        "method": [
            after(DOMAINS_IMPORT, IMPORT_OURS),
            (
                "    model = GLUETransformer(num_labels=2)\n",
                "    network = make_model(num_labels=2)\n"
                "    network.register_forward_hook(lambda module, inputs, output: output.logits)\n"
                "    model = DRU(network=network, optimizer=lambda weights: torch.optim.AdamW(weights, lr=1e-2))\n",
            ),
            (
                "DataLoader(Tokens(seed), batch_size",
                'DataLoader(GroupedDataset(rows := Tokens(seed), rows.domain, label="labels"), batch_size',
            ),
            ("trainer.fit(model, train, val)", "trainer.fit(model, train, [val, evaluation_loader(train)])"),
        ],
    },
    "kornia_like": {
        "metric": [
            after(DOMAINS_IMPORT, IMPORT_RULE),
            after("        self.augment = Augmentation()\n", MEASURE),
            (
                '        x, y = batch\n        self.log("valid_loss"',
                "        x, y, domain = batch\n        self.dcg.update(self(x), y, domain)\n"
                f'{LOG}        self.log("valid_loss"',
            ),
            WITH_DOMAIN["val"],
        ],
        "rule": [
            after(DOMAINS_IMPORT, IMPORT_RULE),
            after("        self.augment = Augmentation()\n", BEGIN_RULE),
            (
                "        x, y = batch\n        return F.cross_entropy(self(x), y)\n",
                "        x, y, domain = batch\n"
                '        losses = F.cross_entropy(output := self(x), y, reduction="none")\n'
                "        self.seen.update(output, y, domain)\n"
                "        return (self.weight[domain] * losses).mean()\n",
            ),
            rule_hook_before("    def validation_step(self, batch, batch_idx):\n"),
            WITH_DOMAIN["train"],
        ],
        "rebased": [
            after(DOMAINS_IMPORT, IMPORT_OURS),
            ("class CoolSystem(LightningModule):", "class CoolSystem(DRU):"),
            ("batch[0] = self.augment(batch[0])", 'batch["inputs"] = self.augment(batch["inputs"])'),
            (
                """    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("valid_loss", F.cross_entropy(self(x), y))

""",
                "",
            ),
            *GROUPED,
            (
                "trainer.fit(model, train_loader, val_loader)",
                "trainer.fit(model, train_loader, [val_loader, evaluation_loader(train_loader)])",
            ),
        ],
        "method": [
            after(DOMAINS_IMPORT, IMPORT_OURS),
            (
                "def fit(callbacks=()):\n",
                "class Augmented(DRU):\n"
                "    def on_after_batch_transfer(self, batch, dataloader_idx):\n"
                '        images = Augmentation()(batch["inputs"]) if self.trainer.training else batch["inputs"]\n'
                '        return {**batch, "inputs": images}\n\n\n'
                "def fit(callbacks=()):\n",
            ),
            ("    model = CoolSystem()\n", "    model = Augmented(network=CoolSystem().model)\n"),
            *GROUPED,
            (
                "trainer.fit(model, train_loader, val_loader)",
                "trainer.fit(model, train_loader, [val_loader, evaluation_loader(train_loader)])",
            ),
        ],
    },
    "timm_like": {
        "metric": [
            after(DOMAINS_IMPORT, IMPORT_RULE),
            after("        self.loss_fn = nn.CrossEntropyLoss()\n", MEASURE),
            (
                "        x, y = batch\n        self.val_acc(self(x), y)\n",
                "        x, y, domain = batch\n        self.val_acc(self(x), y)\n"
                "        self.dcg.update(self(x), y, domain)\n" + LOG,
            ),
            ("        x, y = batch\n        loss", "        x, y, _ = batch\n        loss"),
            ("self.transform(image), target", "self.transform(image), target, self.domains[index]"),
        ],
        "rule": [
            after(DOMAINS_IMPORT, IMPORT_RULE),
            after("        self.loss_fn = nn.CrossEntropyLoss()\n", BEGIN_RULE),
            (
                "        x, y = batch\n        loss = self.loss_fn(self(x), y)\n",
                "        x, y, domain = batch\n"
                "        self.seen.update(output := self(x), y, domain)\n"
                "        loss = (self.weight[domain] * nn.functional.cross_entropy(output, y, "
                'reduction="none")).mean()\n',
            ),
            rule_hook_before("    def configure_optimizers(self):\n"),
            ("        x, y = batch\n        self.val_acc", "        x, y, _ = batch\n        self.val_acc"),
            ("self.transform(image), target", "self.transform(image), target, self.domains[index]"),
        ],
        "rebased": [
            after(DOMAINS_IMPORT, IMPORT_OURS),
            ("class ImageModel(LightningModule):", "class ImageModel(DRU):"),
            (
                """    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.loss_fn(self(x), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

""",
                "",
            ),
            (
                "        x, y = batch\n        self.val_acc",
                "        super().validation_step(batch, batch_idx, dataloader_idx)\n"
                '        x, y = batch["inputs"], batch["label"]\n        self.val_acc',
            ),
            (
                "    def validation_step(self, batch, batch_idx):\n",
                "    def validation_step(self, batch, batch_idx, dataloader_idx=0):\n",
            ),
            *GROUPED_FOLDERS,
        ],
        "method": [
            after(DOMAINS_IMPORT, IMPORT_OURS),
            *GROUPED_FOLDERS,
            (
                "    model, datamodule = ImageModel(), PictureDataModule()\n",
                "    network = ImageModel().model\n"
                "    optimizer = partial(torch.optim.AdamW, lr=1e-3)\n"
                "    model, datamodule = DRU(network=network, optimizer=optimizer), PictureDataModule()\n",
            ),
            ("import timm\n", "from functools import partial\n\nimport timm\n"),
        ],
    },
}
