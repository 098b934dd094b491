import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autopilot.demo.mutations import Mutation, apply_mutations, find_mutations

SAMPLE = '''"""A module with 1 < 2 in its docstring."""
LIMIT = 5


def first(items, low: int, high: int, *, most=3):
    """Says a + b and 1 <= 2."""
    # low < high stands in a comment
    total = low * (high + 1)  # keeps this comment
    if low <= high and not (total == 4):
        total -= low
    while low < 10:
        low += 1
    if most > 9:
        raise ValueError(f"{low + 1} is too much" + str(low - 1))
    assert total != 7
    return items[low:most], total


class Box:
    def grow(self, by):
        self.size += by
        self.log("ä", by)
        return min(self.size, 3) if by else True
'''


def changed_lines(mutation, source=SAMPLE):
    before = source.split("\n")
    after = apply_mutations(source.encode(), [mutation]).decode().split("\n")
    if len(before) != len(after):
        return None
    return [new.strip() for old, new in zip(before, after, strict=True) if old != new]


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("boundary", "if low < high and not (total == 4):"),
        ("comparison", "if low >= high and not (total == 4):"),
        ("comparison", "if low <= high and not (total != 4):"),
        ("logic", "if low <= high or not (total == 4):"),
        ("negation", "if low <= high and (total == 4):"),
        ("arithmetic", "total = low // (high + 1)  # keeps this comment"),
        ("arithmetic", "total = low * (high - 1)  # keeps this comment"),
        ("arithmetic", "total += low"),
        ("constant", "total = low * (high + 2)  # keeps this comment"),
        ("constant", "def first(items, low: int, high: int, *, most=4):"),
        ("name", "total = high * (high + 1)  # keeps this comment"),
        ("bound", "return items[low + 1:most], total"),
        ("bound", "return items[low:most - 1], total"),
        ("return", "return total, items[low:most]"),
        ("arguments", 'self.log(by, "ä")'),
        ("sibling", "return max(self.size, 3) if by else True"),
        ("return", "return True if by else min(self.size, 3)"),
        ("return", "return min(self.size, 3) if by else False"),
    ],
)
def test_each_kind_of_mistake_is_found(kind, line):
    """Every kind is spliced into its line, and the rest of the line stays as it was written."""
    found = find_mutations(SAMPLE.encode())
    assert [line] in [changed_lines(each) for each in found if each.kind == kind]


def test_statements_are_deleted_with_their_lines():
    """A deleted statement leaves no empty line; one that stood alone leaves `pass`."""
    found = find_mutations(SAMPLE.encode())
    after = [apply_mutations(SAMPLE.encode(), [each]).decode() for each in found if each.kind == "deletion"]
    assert SAMPLE.replace("        self.size += by\n", "") in after
    assert SAMPLE.replace("        total -= low\n", "        pass\n") in after


@pytest.mark.parametrize(
    "text", ["1 < 2", "LIMIT", "a + b", "in a comment", "low < 10", "low += 1", "raise", "assert"]
)
def test_some_places_are_left_alone(text):
    """Docstrings, comments, module constants, `while` loops, messages and assertions are never mutated."""
    lines = {number for number, line in enumerate(SAMPLE.split("\n")) if text in line}
    for mutation in find_mutations(SAMPLE.encode()):
        assert SAMPLE.encode()[: mutation.start].count(b"\n") not in lines


def test_names_are_swapped_only_for_names_of_the_same_role():
    """A number is confused with another number, not with a list, and not with one that has no value yet."""
    source = (
        "def f(items, low, high):\n    middle = low + high\n    return [x for x in items if x < middle]\n"
    )
    swapped = [changed_lines(each, source) for each in find_mutations(source.encode()) if each.kind == "name"]
    assert ["middle = high + high"] in swapped
    assert ["return [x for x in items if x < low]"] in swapped
    assert not [
        line
        for (line,) in swapped
        if line.startswith("middle = ") and ("middle +" in line or "items" in line)
    ]
    assert not [line for (line,) in swapped if "in low" in line]


@pytest.mark.parametrize(
    "source",
    [
        b"def f(:\n",
        b"\xff\xfe",
        b"def f(a):\r\n    return a + 1\r\n",
        b"\xef\xbb\xbfdef f(a):\n    return a + 1\n",
    ],
)
def test_files_that_can_not_be_spliced_safely_have_no_mutations(source):
    """Broken files, other encodings and other line ends are left as they are."""
    assert find_mutations(source) == []


@pytest.mark.parametrize("module", ["slugs", "tax"])
def test_every_mutant_compiles_and_differs(package, module):
    """A mutant is a program with another syntax tree; text outside of the edit is the same, byte for byte."""
    source = (package / f"shopkit/{module}.py").read_bytes()
    original = ast.dump(ast.parse(source))
    found = find_mutations(source)
    assert len(found) > 50
    for mutation in found:
        mutant = apply_mutations(source, [mutation])
        assert ast.dump(ast.parse(mutant)) != original
        assert mutant.startswith(source[: mutation.start])
        assert mutant.endswith(source[mutation.end :])


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.binary(max_size=4)), max_size=6, unique_by=lambda each: each[0])
)
def test_several_edits_do_not_move_each_other(edits):
    """Edits are given in places of the original text, whatever the others add or take."""
    source = b"0123456789"
    mutations = [Mutation(at, at + 1, new, "constant", "f") for at, new in edits]
    expected = [bytes([digit]) for digit in source]
    for at, new in edits:
        expected[at] = new
    assert apply_mutations(source, mutations) == b"".join(expected)
