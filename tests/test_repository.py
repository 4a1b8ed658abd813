"""Compares the wheel with the tree, imports with declared dependencies, and the files around the package to each other.

No module below ``evaluation`` computes with what differs from machine to machine. The lint step names the functions
(``banned-api`` in pyproject.toml); here are the operators and the draws.
"""

import ast
import email
import importlib
import importlib.metadata
import json
import re
import runpy
import shutil
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import flowsched_gym
from flowsched_gym.core.errors import MissingDependencyError
from flowsched_gym.core.packed import SUFFIX, folder_of, unpacked
from tests import processes
from tests.processes import Outcome, run, run_python
from tests.repository import FOLDERS, ROOT, SOURCES, Source


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


PYPROJECT = tomllib.loads(read("pyproject.toml"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
OPTIONAL = [requirement for extra in EXTRAS.values() for requirement in extra]

BLOCKED = (
    *("hydra", "matplotlib", "omegaconf", "PIL", "pyarrow", "pygame", "sb3_contrib", "scipy", "stable_baselines3"),
    *("torch", "wandb"),
)
"""Packages that only an extra brings, by import name."""

INSTALLED = importlib.metadata.packages_distributions()
"""Distributions of this environment by import name."""
HEAVY = {*BLOCKED, "numba", "pandas", "simpy"}
"""Packages that `import flowsched_gym` must leave alone, by import name."""

MACHINE = re.compile(r"(?<![\w.])/(?:work|root|home)/[\w.]")
"""What would name the machine that a file was written on: home folders and workplaces."""

MOST_FILES: Final = 1_000
MOST_BYTES: Final = 25_000_000
"""What git may track: who adds results or models packs them."""

ABOVE: Final = tuple(
    f"flowsched_gym.{name}" for name in ("baselines", "cli", "configs", "evaluation", "integrations", "leaderboard")
)
BELOW: Final = [source for source in SOURCES if not source.module.startswith(ABOVE)]

DRAWS: Final = frozenset(
    name
    for name in dir(np.random.Generator)
    if not name.startswith("_") and name not in ("bit_generator", "random", "spawn", "bytes", "power")
)
"""Methods of NumPy's generators that it may change from version to version."""

SUMS_OF_INTEGERS: Final = (
    *(
        "core.tables",
        "envs.columns",
        "fluid.compiled.simulation",
        "packets.compiled.engine",
        "envs.drawing.canvas",
        "envs.drawing.frame",
        "envs.drawing.tables",
    ),
    *("envs.policies.scores", "search", "systems.qcluster.rules", "workload.gather"),
)
"""Modules that use ``sum``, which rounds floats otherwise from Python 3.12 on, of counts alone."""


def _is_here(requirement: Requirement) -> bool:
    """Returns whether this Python is one that a requirement is for."""
    return requirement.marker is None or requirement.marker.evaluate()


def requirements(names: list[str]) -> Iterator[Requirement]:
    """Yields requirements by other packages; an extra of our own stands for its requirements."""
    for requirement in map(Requirement, names):
        if requirement.name == "flowsched-gym":
            yield from requirements([item for extra in sorted(requirement.extras) for item in EXTRAS[extra]])
        else:
            yield requirement


def imported_distributions(source: Source, *, at_import: bool) -> set[str]:
    """Returns the distributions that a module imports, at its top level or inside its functions."""
    tree = source.parse()
    top_level = {id(statement) for statement in tree.body}
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and (id(node) in top_level) == at_import:
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            names |= {module.partition(".")[0] for module in modules}
    # Type checkers bring _typeshed themselves.
    third_party = names - set(sys.stdlib_module_names) - {"flowsched_gym", "_typeshed"}
    return {canonicalize_name(INSTALLED.get(name, [name])[0]) for name in third_party}


def test_the_wheel_holds_exactly_the_files_of_the_tree_and_its_licence(wheel: Path) -> None:
    expected = {
        f"{target}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, target in FOLDERS.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.name != "README.md"
    }
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_wheel_has_commands_that_lead_to_functions_and_a_description_without_a_dead_link_or_picture(wheel) -> None:
    with zipfile.ZipFile(wheel) as archive:
        commands, metadata = (
            archive.read(next(name for name in archive.namelist() if name.endswith(f".dist-info/{file}")))
            for file in ("entry_points.txt", "METADATA")
        )
    message = email.message_from_bytes(metadata)
    description = str(message.get_payload())
    for command in ("flowsched", "flowsched-train", "flowsched-tune", "flowsched-evaluate"):
        target = PYPROJECT["project"]["scripts"][command]
        assert f"{command} = {target}" in commands.decode()
        assert callable(importlib.metadata.EntryPoint(name=command, group="console_scripts", value=target).load())
    assert message["Description-Content-Type"] == "text/markdown"
    assert len(description) > 5_000
    assert "the glossary." in description
    assert [link for link in re.findall(r"\]\(([^)]*)\)", description) if not link.startswith("https://")] == []
    assert "![" not in description


def test_links_and_pictures_of_the_description_lead_to_the_repository_once_its_address_is_set(tmp_path, monkeypatch):
    described: dict = {}
    monkeypatch.setattr("setuptools.setup", lambda **words: described.update(words))
    for name in ("README.md", "setup.py"):
        shutil.copy(ROOT / name, tmp_path)
    text = read("pyproject.toml") + '\n[project.urls]\nRepository = "https://forge.test/our/gym/"\n'
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runpy.run_path("setup.py")
    found = re.findall(r"(!?)\[[^]]*\]\(([^)]*)\)", described["long_description"])
    ours = {(mark, link) for mark, link in found if link.startswith("https://forge.test/")}
    assert ("", "https://forge.test/our/gym/blob/main/docs/glossary.md") in ours
    assert ("!", "https://forge.test/our/gym/raw/main/docs/images/artemis.gif") in ours
    assert all((ROOT / link.split("/main/")[1].partition("#")[0]).exists() for _, link in ours)
    assert [link for _, link in found if not link.startswith(("https://", "#"))] == []


def test_what_the_package_imports_is_declared_and_what_it_imports_at_import_is_a_dependency_of_the_core() -> None:
    core = PYPROJECT["project"]["dependencies"]
    core, everything = (
        {canonicalize_name(requirement.name) for requirement in requirements(names)}
        for names in (core, core + OPTIONAL)
    )
    for source in SOURCES:
        at_import, later = (imported_distributions(source, at_import=each) for each in (True, False))
        is_light = not source.module.startswith(("flowsched_gym.baselines", "flowsched_gym.integrations"))
        assert at_import <= (core if is_light else everything), source.relative_path
        assert later <= everything, source.relative_path


def test_every_extra_that_an_error_message_names_exists() -> None:
    named = {
        keyword.value.value
        for source in SOURCES
        for node in ast.walk(source.parse())
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("MissingDependencyError")
        for keyword in node.keywords
        if keyword.arg == "extra" and isinstance(keyword.value, ast.Constant)
    }
    assert named
    assert named <= set(EXTRAS)


def test_the_pinned_versions_satisfy_what_the_package_asks_for() -> None:
    lines = read("constraints.txt").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    pinned = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in pins if _is_here(pin)}
    asked = PYPROJECT["project"]["dependencies"] + OPTIONAL
    problems = [
        f"{requirement} is pinned to {pinned.get(canonicalize_name(requirement.name))}"
        for requirement in requirements(asked)
        if _is_here(requirement)
        and not requirement.specifier.contains(pinned.get(canonicalize_name(requirement.name), "0"), prereleases=True)
    ]
    assert problems == []


def run_without_extras(program: str, *, status: int = 0) -> Outcome:
    """Runs a program in which the packages of the extras cannot be imported."""
    blocker = f"""
import importlib.machinery, sys

class Blocker(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name in {BLOCKED!r} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(importlib.machinery.PathFinder)] = Blocker
"""
    return run(sys.executable, "-c", blocker + program, status=status)


def test_artemis_runs_on_the_light_core_alone() -> None:
    program = """
import gymnasium

env = gymnasium.make("flowsched_gym:flowsched/Artemis-v0")
observation, info = env.reset(seed=1)
for _ in range(20):
    observation, reward, terminated, truncated, info = env.step(0)
print(observation in env.observation_space)

from gymnasium.utils.env_checker import check_env

check_env(env.unwrapped)  # in all render modes that the environment lists
print(env.metadata["render_modes"])
"""
    assert run_without_extras(program).out == "True\n['ansi']\n"


@pytest.mark.parametrize("command", ["train", "tune"])
def test_a_training_command_without_its_extra_names_the_pip_command(command: str) -> None:
    program = f"import sys; from flowsched_gym.baselines import entry; sys.exit(entry.{command}())"
    outcome = run_without_extras(program, status=2)
    assert (outcome.out, outcome.err.count("\n")) == ("", 1)
    assert "pip install 'flowsched-gym[train]'" in outcome.err


def test_every_public_name_can_be_imported() -> None:
    for source in SOURCES:
        try:
            module = importlib.import_module(source.module)
        except MissingDependencyError:
            assert source.module.startswith("flowsched_gym.baselines.ppo_on_"), "make rllib runs these"
            continue
        declared = list(getattr(module, "__all__", ()))
        assert len(declared) == len(set(declared)), source.relative_path
        assert [name for name in declared if not hasattr(module, name)] == [], source.relative_path


def test_importing_the_package_loads_no_heavy_library_and_dir_shows_public_names_alone() -> None:
    program = "import json, sys, flowsched_gym; print(json.dumps([sorted(sys.modules), dir(flowsched_gym)]))"
    modules, shown = json.loads(run_python(program))
    loaded = {name.partition(".")[0] for name in modules}
    assert "flowsched_gym" in loaded
    assert loaded.isdisjoint(HEAVY), f"import flowsched_gym loads {sorted(loaded.intersection(HEAVY))}"
    assert shown == sorted(flowsched_gym.__all__)
    for name in ("envs", "evaluation", "fluid", "leaderboard", "ns3", "players", "queueing", "search", "systems"):
        module = importlib.import_module(f"flowsched_gym.{name}")
        assert dir(module) == sorted(module.__all__)


def test_every_file_gives_the_same_version() -> None:
    citation = re.findall(r"^version: (\S+)$", read("CITATION.cff"), re.MULTILINE)
    changelog = re.findall(r"^## \[(?:Unreleased\] - )?(\d+\.\d+\.\d+)", read("CHANGELOG.md"), re.MULTILINE)
    assert citation == changelog[:1] == [flowsched_gym.__version__]


def test_every_make_command_of_the_documents_and_every_script_of_the_makefile_exists() -> None:
    makefile, documents = read("Makefile"), ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", ".ci/run")
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", "\n".join(map(read, documents)), re.MULTILINE))
    modules = re.findall(r"-m (?:flowsched_gym\.)?((?:baselines|benchmarks)\.[\w.]+)", makefile)
    paths = [module.replace(".", "/") + ".py" for module in modules]
    assert {"demo", "test", "check"} <= named
    assert named <= set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert {path.split("/")[0] for path in paths} == {"baselines", "benchmarks"}
    assert [path for path in paths if not (ROOT / path).is_file()] == []


def test_the_container_runs_targets_of_the_makefile_on_a_python_that_the_package_supports_without_what_git_ignores():
    lines = [line for line in read("Dockerfile").splitlines() if not line.startswith("#")]
    (python,) = [line.split(":")[1].removesuffix("-slim") for line in lines if line.startswith("FROM")]
    assert SpecifierSet(PYPROJECT["project"]["requires-python"]).contains(python)
    makefile, container = read("Makefile"), "\n".join(lines)
    assert 'CMD ["make", "demo"]' in container
    assert "\nARG EXTRA=train\n" in container
    for target in ("demo", "docs", *(f"$(VENV)/.{extra}" for extra in ("train", "dev"))):
        assert f"\n{target}:" in makefile
    ignored = {line.strip("/*").removesuffix("/") for line in read(".dockerignore").splitlines()[1:]}
    folders = [line.strip("/") for line in read(".gitignore").splitlines() if line.startswith("/")]
    assert [folder for folder in folders if folder not in ignored] == []


def tracked() -> list[Path]:
    """Lists the files of the repository, as git has them."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    return [path for name in run("git", "ls-files", "-z").out.split("\0") if (path := ROOT / name).is_file()]


def test_no_file_names_the_machine_that_it_was_written_on() -> None:
    for line in ("see /" + "work/main/x", "cache in /root/.cache", "path=/home/user"):
        assert MACHINE.search(line), line
    found = [
        f"{path}:{number}: {line.strip()[:80]}"
        for path in tracked()
        if path != Path(__file__)
        for content in (unpacked(folder_of(path)).values() if path.name.endswith(SUFFIX) else [path.read_bytes()])
        for text in [content.decode(errors="ignore")]
        if MACHINE.search(text)
        for number, line in enumerate(text.splitlines(), start=1)
        if MACHINE.search(line)
    ]
    assert found == []


def test_the_repository_is_small_enough_to_carry() -> None:
    assert len(tracked()) < MOST_FILES
    assert sum(path.stat().st_size for path in tracked()) < MOST_BYTES


def test_a_process_that_fails_shows_all_that_it_printed_and_one_that_hangs_is_ended(monkeypatch) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"(?s)ended with status 1, not 0.*so far.*the reason"):
        run_python("import sys; print('so far'); sys.exit('the reason')")
    monkeypatch.setattr(processes, "PATIENCE", 0.0)
    with pytest.raises(pytest.fail.Exception, match="did not end within"):
        run(sys.executable, "-c", "import time; time.sleep(1e6)")


def is_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and is_literal(node.operand))


def faults(tree: ast.Module) -> list[str]:
    """Lists the powers, matrix products and draws of a module, with their lines."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Pow | ast.MatMult):
            written_out = isinstance(node, ast.BinOp) and is_literal(node.left) and is_literal(node.right)
            if not written_out:
                found.append(f"line {node.lineno}: an operator that ends in the C library or in BLAS")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DRAWS:
            found.append(f"line {node.lineno}: {node.func.attr} of a generator; seeding.py has the draws")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("pow", "sum"):
            found.append(f"line {node.lineno}: {node.func.id}")
    return found


def test_modules_compute_and_draw_the_same_on_every_machine() -> None:
    for source in BELOW:
        sums = "sum" if source.module.removeprefix("flowsched_gym.") in SUMS_OF_INTEGERS else None
        found = [fault for fault in faults(source.parse()) if fault.rpartition(" ")[2] != sums]
        assert found == [], source.relative_path


def test_what_differs_is_found_and_what_is_exact_is_allowed() -> None:
    for line in ("x ** 2", "2 ** x", "x **= 2", "x @ y", "rng.integers(3)", "rng.normal()", "sum(x)"):
        assert len(faults(ast.parse(line))) == 1, line
    for line in ("2.0**-53", "10**9", "rng.random(3)", "integers(rng, 3)", "f(**x)", "math.fsum(x)"):
        assert faults(ast.parse(line)) == [], line
