"""What was let into launches is shown, and explains a difference; what an older run does not tell explains none."""

from pathlib import Path
from typing import Any

from postprocess.records import let_in
from postprocess.verdicts.history import manifest_changes
from tests.archives import archived, name_of
from tests.support import Command


def manifest(**variables: str) -> dict[str, Any]:
    return {
        "environment": {"kept_out": {"OMPI_MCA_pml": "ucx"}, "let_in": variables},
        "options": {"environment": [f"{name}={value}" for name, value in variables.items()]},
    }


def test_a_variable_that_was_let_in_on_one_side_is_a_difference() -> None:
    none, tcp, sm = manifest(), manifest(UCX_TLS="tcp"), manifest(UCX_TLS="sm", A="1")
    assert list(let_in.differences([none], [tcp])) == ["let in UCX_TLS: none -> tcp"]
    of_two = ["let in A: none -> 1 or none", "let in UCX_TLS: tcp -> sm or tcp"]
    assert list(let_in.differences([tcp], [tcp, sm])) == of_two
    assert list(let_in.differences([tcp], [tcp])) == []
    assert manifest_changes(none, tcp) == ["let in UCX_TLS: none -> tcp"]
    assert manifest_changes(sm, none) == ["let in UCX_TLS: sm -> none", "let in A: 1 -> none"]


def test_show_and_the_report_tell_what_was_let_in_and_kept_out(tmp_path: Path, inside: Command) -> None:
    folder = archived(tmp_path, name_of(1), manifest=manifest(UCX_TLS="<tcp>"))
    said = inside("show", str(folder.path), "--provenance").stdout
    assert "let in      UCX_TLS=<tcp>" in said
    assert "kept out    OMPI_MCA_pml=ucx" in said
    page = tmp_path / "report.html"
    assert inside("report", str(folder.path), "-o", str(page)).returncode == 0
    assert "UCX_TLS=&lt;tcp&gt;" in page.read_text()


def test_compare_names_what_was_let_in_on_one_side(tmp_path: Path, inside: Command) -> None:
    none, one = manifest(), manifest(A="1")
    runs = [archived(tmp_path, name_of(day), manifest=given).run for day, given in enumerate((none, one), 1)]
    said = inside("compare", *runs, "--output", str(tmp_path)).stdout
    assert "note: not on the same terms: let in A: none -> 1" in said
