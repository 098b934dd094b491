import pytest

from autopilot.demo.modules import find_modules

FILES = {
    "src/shop/__init__.py": "",
    "src/shop/money.py": "def f(): pass",
    "src/shop/cart.py": "from .money import f",
    "src/shop/deep/rates.py": "from ..odd import g",
    "src/shop/till.py": "from . import lonely",
    "src/shop/odd.py": "def g(): pass",
    "src/shop/lonely.py": "",
    "tests/test_money.py": "from shop.money import f",
    "tests/test_everything.py": "import shop.cart, shop.till\nfrom shop import odd",
    "tests/helpers.py": "",
    "conftest.py": "",
    "setup.py": "",
    "docs/example.py": "",
    ".venv/lib/site.py": "",
    "env/pyvenv.cfg": "",
    "env/lib.py": "",
    "broken_test.py": "def (",
}


@pytest.fixture
def modules(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = find_modules(tmp_path, ["tests/test_money.py", "tests/test_everything.py"])
    return {module.path: module for module in found}


def test_only_the_repositorys_own_code_is_source(modules):
    """Tests, their helpers, set-up files, documentation and virtual environments hold no planted bug."""
    assert set(modules) == {
        f"src/shop/{name}.py" for name in ("__init__", "money", "cart", "odd", "lonely", "till", "deep/rates")
    }


def test_a_file_named_after_a_module_is_about_it(modules):
    """The name of a test file says what it is about."""
    assert modules["src/shop/money.py"].tests == ("tests/test_money.py",)


def test_otherwise_the_imports_say_what_a_test_file_is_about(modules):
    """Without a file of its name, the files that import a module are about it."""
    assert modules["src/shop/odd.py"].tests == ("tests/test_everything.py",)
    assert modules["src/shop/lonely.py"].tests == ()


def test_tests_that_reach_a_module_through_others_are_near(modules):
    """The tests of a module that uses another one, relative imports included, may notice its bugs."""
    assert modules["src/shop/money.py"].near == ("tests/test_everything.py", "tests/test_money.py")
    assert modules["src/shop/lonely.py"].near == ("tests/test_everything.py",)
    assert modules["src/shop/deep/rates.py"].near == ()
