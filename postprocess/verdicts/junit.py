"""JUnit files for build servers."""

from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree

from postprocess.drawing.text import clean

FAILURE, SKIPPED = "failure", "skipped"


@dataclass(frozen=True)
class TestCase:
    """A test case. `kind` is FAILURE or SKIPPED, with a message; empty where it passed."""

    classname: str
    name: str
    kind: str = ""
    message: str = ""


def suites(files: Iterable[str]) -> str:
    """Several files of `junit` as one."""
    root = ElementTree.Element("testsuites")
    root.extend(map(ElementTree.fromstring, files))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def junit(name: str, cases: Iterable[TestCase]) -> str:
    """A test suite in the JUnit format, without characters that XML forbids."""
    cases = list(cases)
    counts = {kind: str(sum(case.kind == kind for case in cases)) for kind in (FAILURE, SKIPPED)}
    suite = ElementTree.Element(
        "testsuite",
        name=clean(name),
        tests=str(len(cases)),
        failures=counts[FAILURE],
        skipped=counts[SKIPPED],
        errors="0",
    )
    for case in cases:
        element = ElementTree.SubElement(
            suite, "testcase", classname=clean(case.classname), name=clean(case.name), time="0"
        )
        if case.kind:
            ElementTree.SubElement(element, case.kind, message=clean(case.message))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
