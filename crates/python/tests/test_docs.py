"""What docstrings show is what happens, and every public name has one in numpydoc's form or in sections of its own."""

import doctest
import importlib
import inspect

import pytest

import toprank
from toprank import _MODULE_OF, _reference, _stubs


@pytest.mark.parametrize("module", sorted(set(_MODULE_OF.values())))
def test_examples_in_docstrings_run(module):
    found = importlib.import_module(f"toprank.{module}")
    # Examples on data that are not shown are of the older docstrings, which do not import what they use.
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for test in doctest.DocTestFinder(exclude_empty=True).find(found, globs={"toprank": toprank}):
        if "import toprank" in (test.docstring or ""):
            runner.run(test)
    assert runner.failures == 0


def test_every_public_name_is_documented():
    for name in toprank.__all__:
        value = getattr(toprank, name)
        assert name == "__version__" or inspect.getdoc(value), name
        for member, method in vars(value).items() if inspect.isclass(value) else ():
            if not member.startswith("_") and inspect.isfunction(method):
                assert inspect.getdoc(method), f"{name}.{member}"


def test_stubs_name_everything_and_are_python():
    text = _stubs.stubs()
    compile(text, "__init__.pyi", "exec")
    for name in toprank.__all__:
        assert f"class {name}" in text or f"def {name}(" in text or f"{name}:" in text, name


def test_the_reference_has_every_public_name_and_its_sections():
    text = _reference.reference()
    for name in toprank.__all__:
        assert name == "__version__" or f"## `toprank.{name}`" in text, name
    assert "### `.recommend`" in text and "- **interactions**: frame" in text and "#### Returns" in text
    assert text.count("```") % 2 == 0
