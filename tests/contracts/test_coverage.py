"""Coverage as tools write it; what is not understood is never full coverage."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.coverage import printed, reported
from contracts.junit import TOO_LARGE, BadReport

COBERTURA = """<?xml version="1.0" ?>
<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">
<coverage version="7.6" timestamp="1" lines-valid="8" lines-covered="6" line-rate="0.75" branch-rate="0">
<packages><package name="." line-rate="0.75"><classes><class name="a.py" filename="a.py" line-rate="0.75">
<methods/><lines><line number="1" hits="1"/></lines></class></classes></package></packages></coverage>"""
COUNTED = """<coverage line-rate="0.5"><packages><package><classes><class><methods><method><lines>
<line number="1" hits="0"/></lines></method></methods><lines><line number="1" hits="0"/><line number="2" hits="3"/>
</lines></class></classes></package></packages></coverage>"""
JACOCO = """<?xml version="1.0"?><!DOCTYPE report PUBLIC "-//JACOCO//DTD Report 1.1//EN" "report.dtd">
<report name="x"><package name="p"><counter type="LINE" missed="99" covered="1"/></package>
<counter type="INSTRUCTION" missed="1" covered="99"/><counter type="LINE" missed="1" covered="3"/></report>"""
CLOVER = """<coverage generated="1"><project timestamp="1"><metrics statements="10" coveredstatements="9" elements="1"/>
<package name="p"><metrics statements="4" coveredstatements="0"/></package></project></coverage>"""
LCOV = "TN:\nSF:/a.c\nDA:1,1\nDA:2,0\nLF:2\nLH:1\nend_of_record\nSF:/b.c\nLF:2\nLH:2\nend_of_record\n"
GO = "mode: set\nm/a.go:1.2,3.4 3 1\nm/a.go:5.2,6.4 1 0\nm/a.go:5.2,6.4 1 0\nm/a.go:1.2,3.4 3 0\n"
PY = json.dumps(
    {"meta": {}, "files": {}, "totals": {"covered_lines": 3, "num_statements": 4, "percent_covered": 75.0}}
)
SUMMARY = json.dumps({"total": {"lines": {"total": 4, "covered": 3, "pct": 75}}, "/a.js": {}})
FINAL = json.dumps({"/a.js": {"path": "/a.js", "s": {"0": 1, "1": 0, "2": 7, "3": 1}, "f": {}}})
LLVM = json.dumps(
    {"type": "llvm.coverage.json.export", "data": [{"totals": {"lines": {"count": 4, "covered": 3}}}]}
)
REPORTS = {
    "cobertura": (COBERTURA, 75), "counted": (COUNTED, 50), "jacoco": (JACOCO, 75), "clover": (CLOVER, 90),
    "lcov": (LCOV, 75), "go": (GO, 75), "coverage.py": (PY, 75), "istanbul summary": (SUMMARY, 75),
    "istanbul": (FINAL, 75), "llvm": (LLVM, 75), "crlf": (LCOV.replace("\n", "\r\n"), 75),
}  # fmt: skip


@pytest.mark.parametrize("kind", REPORTS)
def test_reports(kind: str) -> None:
    text, percent = REPORTS[kind]
    assert reported({"r": text.encode()}) == percent


def test_several_reports_are_one() -> None:
    assert reported({"a": COBERTURA.encode(), "b": LCOV.encode(), "c": CLOVER.encode()}) == pytest.approx(
        100 * 18 / 22
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "none of the forms"), (b"\x00\x01", "none of the forms"), (b"<x/>", "neither Cobertura"),
        (b"<coverage lines-valid='0' lines-covered='0'/>", "counts no line"), (b"{}", "counts no line"),
        (b'{"totals": {}}', "can't be read"), (b'{"a": 1}', "can't be read"), (b"[1]", "none of the forms"),
        (b"mode: set\nnonsense", "can't be read"), (b"<coverage", "can't be read"), (TOO_LARGE, "not read"),
        (b"<coverage lines-valid='1' lines-covered='9'/>", "counts no line"), (b"mode: set\n", "counts no line"),
        (b"<!DOCTYPE coverage [<!ENTITY a 'b'>]><coverage/>", "document type"),
        (b"<!DOCTYPE coverage [ ]><coverage/>", "document type"), (b"<a>" * 99, "nested deeper"),
    ],
)  # fmt: skip
def test_what_is_no_report_says_so(data: bytes, said: str) -> None:
    with pytest.raises(BadReport, match=said):
        reported({"r": data})


@given(st.sampled_from(list(REPORTS)), st.integers(0, 400), st.binary(max_size=8))
def test_a_damaged_report_is_refused_or_read(kind: str, at: int, more: bytes) -> None:
    data = REPORTS[kind][0].encode()
    try:
        assert 0 <= reported({"r": data[:at] + more + data[at:]}) <= 100
    except BadReport:
        pass


@pytest.mark.parametrize(
    ("text", "percent"),
    [
        ("Name  Stmts Miss Cover\na.py 4 1 75%\nTOTAL 8 2 75%\n", 75), ("TOTAL   100   20   12   3   78.5%\n", 78.5),
        ("ok  m/a 0.1s coverage: 83.3% of statements\nok m/b 0.1s coverage: 50.0% of statements\n", 50.0),
        ("total:\t\t(statements)\t61.2%\n", 61.2), ("66.67% coverage, 2/3 lines covered\n", 66.67),
        ("Statements   : 90% ( 9/10 )\nLines        : 80% ( 8/10 )\n", 80),
        ("All files |   85.71 |  50 | 100 |\n", 85.71),
        ("TOTAL  10 2 80.00% 5 1 80.00% 40 4 90.00%\n", 90.0),
        ("3 passed in 0.1s\n", None), ("the coverage is 100% great\n", None), ("TOTAL 100\n", None),
    ],
)  # fmt: skip
def test_what_tools_print(text: str, percent: float | None) -> None:
    assert printed(text) == percent
