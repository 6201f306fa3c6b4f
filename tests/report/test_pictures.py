"""Criteria by epoch: panels that are told apart, and lines whose looks all mean something."""

from drurank.report.pictures import draw_criteria


def test_panels_of_one_scale_are_named_and_lines_differ_by_colour_and_dashes_alone():
    first = {"val_gdcg50": 24.0, "val_qdcg50": 9.0, "val_qdcg10": 3.5, "id_val_qdcg10": 3.0, "val_worst": 0.01}
    figure = draw_criteria({0: first, 1: first})
    titles = [ax.get_title() for ax in figure.axes]
    assert titles == [
        "qdcg10 and qdcg50\ndiscounted sum of errors (lower is better)",
        "gdcg50\ndiscounted sum of errors (lower is better)",
        "accuracy (higher is better)",
    ]
    assert len({line.get_linewidth() for ax in figure.axes for line in ax.lines}) == 1
    figure.draw_without_rendering()
    for ax in figure.axes:
        box = ax.title.get_window_extent()
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        for sample in ax.get_legend().get_lines():
            dash = sum(sample._unscaled_dash_pattern[1] or (0,)) * sample.get_linewidth()
            assert sample.get_xdata()[1] - sample.get_xdata()[0] > 2 * dash, "two dashes and more"
