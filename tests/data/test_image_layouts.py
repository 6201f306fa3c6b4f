"""The published folder layouts of data sets of pictures, in small, prepared as docs/image_data.md says and fitted."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from drurank.data import Images
from painting import red_or_blue
from runs import CONFIGS, ROOT, read_csv, read_json

PAGE = (ROOT / "docs/image_data.md").read_text(encoding="utf-8")
DATA = ("waterbirds", "celeba", "metashift", "iwildcam", "fmow")
TITLES = dict(zip(DATA, ("Waterbirds", "CelebA", "MetaShift", "iWildCam", "FMoW"), strict=True))


def section(name):
    return PAGE.partition(f"\n## {TITLES[name]}\n")[2].partition("\n## ")[0]


def prepare(name):
    """Run what the page says of a data set, in the current folder."""
    for block in re.findall(r"```python\n(.*?)```", section(name), re.DOTALL):
        exec(compile(block, f"{name} of docs/image_data.md", "exec"), {})


def write_table(path, head, lines):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *lines])


def paint(path, y, seed):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    red_or_blue(y, seed).save(path)


# Each writes a layout and gives the rows that are to be found: split, label, group, file.


def waterbirds():
    """Columns of generate_waterbirds.py: an id from 1, the file, the label, the split, the place, and its file."""
    folder, lines, rows = "waterbird_complete95_forest2water2", [], []
    for number in range(24):
        y, place, split = number % 2, number // 2 % 2, (0, 0, 1, 2)[number // 6]
        name = f"{number % 3:03}.Auk/Auk_{number}.jpg"
        paint(f"{folder}/{name}", y, number)
        lines.append((number + 1, name, y, split, place, f"/o/ocean/{number}.jpg"))
        group = f"{('land', 'water')[place]} | {('landbird', 'waterbird')[y]}"
        rows.append((("train", "val", "test")[split], ("landbird", "waterbird")[y], group, f"{folder}/{name}"))
    head = ("img_id", "img_filename", "y", "split", "place", "place_filename")
    write_table(f"{folder}/metadata.csv", head, lines)
    return rows


def celeba():
    """Two tables in the same order; other attributes stand around the two that are used."""
    attributes, parts, rows = [], [], []
    for number in range(24):
        blond, male, part = number % 2, number // 2 % 2, (0, 0, 1, 2)[number // 6]
        name = f"{number + 1:06}.jpg"
        paint(f"img_align_celeba/{name}", blond, number)
        attributes.append((name, -1, 2 * blond - 1, 1, 2 * male - 1, -1))
        parts.append((name, part))
        label = ("not blond", "blond")[blond]
        group = f"{('female', 'male')[male]} | {label}"
        rows.append((("train", "val", "test")[part], label, group, f"img_align_celeba/{name}"))
    head = ("image_id", "Arched_Eyebrows", "Blond_Hair", "Attractive", "Male", "Young")
    write_table("list_attr_celeba.csv", head, attributes)
    write_table("list_eval_partition.csv", ("image_id", "partition"), parts[::-1])
    return rows


def metashift():
    """Folders alone; the page's lines say the split, so that is taken from the table that they write."""
    folder, rows = Path("metashift"), []
    for part, what, where in (
        ("train", "cat", "indoor"),
        ("train", "dog", "outdoor"),
        ("test", "cat", "outdoor"),
        ("test", "dog", "indoor"),
    ):
        for number in range(10):
            name = f"MetaShift-Cat-Dog-indoor-outdoor/{part}/{what}/{what}({where})/{number}.jpg"
            paint(folder / name, int(what == "cat"), number)
            rows.append([what, f"{where}s | {what}", f"metashift/{name}"])
    prepare("metashift")
    split = {line["filename"]: int(line["split"]) for line in read_csv(folder / "metadata_metashift.csv")}
    assert np.bincount(list(split.values())).tolist() == [26, 4, 10]  # a quarter, a tenth, the rest
    return [(("train", "val", "test")[split[file.removeprefix("metashift/")]], *rest, file) for *rest, file in rows]


def iwildcam():
    """Columns that create_split.py writes, with the nameless one of the row's number."""
    lines, rows = [], []
    for number in range(30):
        split = ("train", "train", "val", "test", "id_val", "id_test")[number // 5]
        place = number % 3 + {"val": 3, "test": 6}.get(split, 0)
        y, name = number % 2, f"{number:x}-21bc.jpg"
        paint(f"iwildcam_v2.0/train/{name}", y, number)
        lines.append(
            (
                number,
                split,
                place,
                500 - place,
                number,
                f"seq{number}",
                y,
                10 + y,
                "2013-06-05 05:44:19.000",
                name,
                number,
            )
        )
        named = {"val": "ood_val", "test": "ood_test"}.get(split, split)
        rows.append((named, str(y), str(place), f"iwildcam_v2.0/train/{name}"))
    head = ("", "split", "location_remapped", "location", "sequence_remapped", "seq_id", "y", "category_id", "datetime")
    write_table("iwildcam_v2.0/metadata.csv", (*head, "filename", "image_id"), lines)
    return rows


def fmow():
    """Columns that process_metadata_fmow.py writes, some of them; of one code the table of regions knows nothing."""
    cases = [
        # split and year as they stand there, and the part that WILDS makes of them
        ("seq", 2010, None),
        ("train", 2002, "train"),
        ("train", 2012, "train"),
        ("train", 2013, None),
        ("train", 2017, None),
        ("val", 2012, "id_val"),
        ("val", 2013, "val"),
        ("val", 2015, "val"),
        ("val", 2016, None),
        ("test", 2011, "id_test"),
        ("test", 2014, None),
        ("test", 2016, "test"),
        ("test", 2017, "test"),
    ]
    lines, rows = [], []
    for number in range(6 * len(cases)):
        split, year, part = cases[number % len(cases)]
        y, code = number // len(cases) % 2, ("FRA", "KEN", "XKX")[number // len(cases) % 3]
        paint(name := f"fmow_v1.1/images/rgb_img_{number}.png", y, number)
        category, stamp = ("zoo", "airport")[y], f"{year}-12-31T23:59:59Z"
        lines.append((split, f"{category}_{number}.jpg", category, code, 3, stamp, 48.1, 2.5))
        if part is not None:
            rows.append((part, category, {"FRA": "Europe", "KEN": "Africa", "XKX": "Other"}[code], name))
    head = ("split", "img_filename", "category", "country_code", "cloud_cover", "timestamp", "lat", "lon")
    write_table("fmow_v1.1/rgb_metadata.csv", head, lines)
    codes = [("France", "FRA", "Europe"), ("Kenya", "KEN", "Africa")]
    write_table("fmow_v1.1/country_code_mapping.csv", ("name", "alpha-3", "region"), codes)
    return rows


LAYOUTS = {"waterbirds": waterbirds, "celeba": celeba, "metashift": metashift, "iwildcam": iwildcam, "fmow": fmow}


def options_of(name):
    return yaml.safe_load((CONFIGS / f"data/{name}.yaml").read_text(encoding="utf-8"))["data"]["init_args"]


@pytest.mark.parametrize("name", DATA)
def test_a_published_layout_is_read_and_fitted(name, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    rows = LAYOUTS[name]()
    prepare(name)
    data = Images(**{**options_of(name), "size": 16, "resize": 18})
    data.setup("fit")
    assert set(data.splits()) == {split for split, *_ in rows}
    names = data.label_names
    for split in data.splits():
        dataset = data.dataset(split)
        batch = dataset[list(range(len(dataset)))]
        files = [data._pictures.files[row] for row in dataset.rows.tolist()]
        found = {
            (names[label], dataset.group_names[group], str(Path(file).relative_to(tmp_path)))
            for label, group, file in zip(batch["label"].tolist(), batch["group"].tolist(), files, strict=True)
        }
        assert len(found) == len(dataset)
        assert found == {tuple(rest) for part, *rest in rows if part == split}, split
    small = ["--data.size", 16, "--data.resize", 18, "--model.network", "ConvNet", "--model.network.channels=[8]"]
    budget = [] if name == "metashift" else ["--config", CONFIGS / f"trainer/{name}.yaml"]
    words = ["--config", CONFIGS / f"data/{name}.yaml", "--config", CONFIGS / "method/qdru_m.yaml", *budget]
    run("fit", *words, *small, "--trainer.max_epochs", 1, "--select", "worst")
    run("test", "--run", "runs/version_0")
    report = read_json("runs/version_0/test/worst/report.json")
    counts = {split: found["rows"] for split, found in report["splits"].items()}
    tested = [split for split, *_ in rows if split.endswith("test")]
    assert counts == {split: tested.count(split) for split in set(tested)}


def test_what_inspect_ends_with_trains_on_the_data_that_it_looked_at(tmp_path, monkeypatch, run, capsys):
    monkeypatch.chdir(tmp_path)
    waterbirds()
    run("inspect", "--config", "drurank:data/waterbirds", "--data.size", 16)
    (fit,) = re.findall(r"^Train on it: .* fit (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert fit.startswith("--config drurank:data/waterbirds --data.size 16 --model DRU --model.network ConvNet")


def test_the_table_of_subpopbench_is_read_with_its_absolute_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    metashift()
    table = Path("metashift/metadata_metashift.csv")
    lines = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    theirs = [(tmp_path / "metashift" / line["filename"], line["y"], line["a"], line["split"]) for line in lines]
    write_table(table, ("filename", "y", "a", "split"), theirs)
    data = Images(**{**options_of("metashift"), "size": 16})
    data.setup("fit")
    assert len(data.dataset("train")) == 26
    assert data.dataset("train")[0]["inputs"].shape == (3, 16, 16)


def test_years_are_groups_of_fmow_that_training_lacks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fmow()
    prepare("fmow")
    assert "--data.group year --data.split_names '{val: ood_val, test: ood_test}'" in section("fmow")
    unseen = {"group": "year", "split_names": {"val": "ood_val", "test": "ood_test"}}
    data = Images(**{**options_of("fmow"), **unseen, "size": 16})
    data.setup("fit")
    for split, years in (("train", ["2002", "2012"]), ("ood_val", ["2013", "2015"]), ("ood_test", ["2016", "2017"])):
        dataset = data.dataset(split)
        assert [dataset.group_names[group] for group in np.unique(dataset.group)] == years


@pytest.mark.parametrize("page", ["images", "image_data", "texts"])
def test_files_and_pages_that_a_page_names_are_there(page):
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    configs = re.findall(r"configs/(?:data|method|network|trainer)/\w+\.yaml", text)
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    for file in {*configs, *(f"docs/{link}" for link in links)}:
        assert (ROOT / file).exists(), file
    assert links


def test_networks_of_the_literature_are_known_with_weights_that_can_be_had():
    import timm

    for name in ("resnet50", "densenet121"):
        config = yaml.safe_load((CONFIGS / f"network/{name}.yaml").read_text(encoding="utf-8"))
        network = config["model"]["init_args"]["network"]
        assert network["class_path"] == "drurank.networks.ImageClassifier"
        assert network["init_args"]["backbone"] in timm.list_pretrained(f"{name}*")
