"""Tests how Penstock is installed: the interpreter, the wheel, and the audit of the packages."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

from penstock import __version__

ROOT = Path(__file__).parents[3]

# --- interpreter -----------------------------------------------------------------------------------------------------
# infra/local/find_python.sh chooses the Python interpreter for the virtual environments. These tests use scripts as
# interpreters.
FIND = ROOT / "infra" / "local" / "find_python.sh"
SCRIPT = """#!/bin/sh
case "$2" in *"import sys, pip;"*) [ {has_pip} = True ] || exit 1;; esac
exec "{real}" -c "import sys; sys.version_info, sys.executable = {version}, '$0'; ${{2#*;}}"
"""


def install(path: Path, version: tuple[int, int] = (3, 11), has_pip: bool = True) -> str:
    """Writes a script that imitates an interpreter of the given version. Returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SCRIPT.format(real=sys.executable, version=version, has_pip=has_pip))
    path.chmod(0o755)
    return str(path)


def find(*folders: Path) -> subprocess.CompletedProcess[str]:
    """Runs the script with only these folders on PATH, which do not contain bash."""
    bash = shutil.which("bash")
    assert bash is not None
    path = ":".join(str(folder) for folder in folders)
    return subprocess.run(
        [bash, str(FIND)], env={"PATH": path}, capture_output=True, text=True, check=False, timeout=60
    )


def test_python3_is_preferred_to_newer_ones(tmp_path: Path) -> None:
    install(tmp_path / "first" / "python3.14", (3, 14))
    chosen = install(tmp_path / "second" / "python3")
    assert find(tmp_path / "first", tmp_path / "second").stdout == f"{chosen}\n"


@pytest.mark.parametrize(("version", "has_pip"), [((3, 10), True), ((3, 12), False)], ids=["too old", "no pip"])
def test_an_unsuitable_python3_is_passed_over_for_the_newest_other(
    tmp_path: Path, version: tuple[int, int], has_pip: bool
) -> None:
    install(tmp_path / "first" / "python3", version, has_pip)
    alone = find(tmp_path / "first")
    assert (alone.returncode, alone.stdout) == (1, "")
    install(tmp_path / "a second" / "python3.11")
    chosen = install(tmp_path / "a second" / "python3.13", (3, 13))
    assert find(tmp_path / "first", tmp_path / "a second").stdout == f"{chosen}\n"
    chosen = install(tmp_path / "a second" / "python3")
    assert find(tmp_path / "first", tmp_path / "a second").stdout == f"{chosen}\n"


def test_an_interpreter_that_only_fails_is_passed_over(tmp_path: Path) -> None:
    """A shim of pyenv exits with 127 if the user has not selected its version."""
    broken = tmp_path / "first" / "python3"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    chosen = install(tmp_path / "second" / "python3")
    assert find(tmp_path / "first", tmp_path / "second").stdout == f"{chosen}\n"


def test_uv_on_path_replaces_pip_and_the_interpreter(tmp_path: Path) -> None:
    uv = tmp_path / "uv" / "uv"
    uv.parent.mkdir()
    uv.write_text("#!/bin/sh\necho /managed/python\n")
    uv.chmod(0o755)
    assert find(tmp_path / "uv").stdout == "/managed/python\n"
    chosen = install(tmp_path / "without pip" / "python3", has_pip=False)
    assert find(tmp_path / "without pip", tmp_path / "uv").stdout == f"{chosen}\n"


def test_the_error_names_what_is_missing(tmp_path: Path) -> None:
    found = find(tmp_path)
    assert (found.returncode, found.stdout) == (1, "")
    assert "Python 3.11 or newer with pip" in found.stderr
    assert "PYTHON=" in found.stderr


def run_make(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs make with a Makefile that includes Penstock's Makefile and then prints the chosen interpreter. PATH contains
    only the interpreters in `tmp_path`.
    """
    (tmp_path / "Makefile").write_text(f"include {ROOT / 'Makefile'}\nshow:\n\t@echo chosen: $(PYTHON)\n")
    (tmp_path / "tools").mkdir(exist_ok=True)
    for tool in ("bash", "grep", "sort", "uname", "id"):
        if (found := shutil.which(tool)) and not (tmp_path / "tools" / tool).exists():
            (tmp_path / "tools" / tool).symlink_to(found)
    program = shutil.which("make")
    assert program is not None
    return subprocess.run(
        [program, "-f", str(tmp_path / "Makefile"), "show", *arguments],
        cwd=ROOT, env={"PATH": f"{tmp_path / 'bin'}:{tmp_path / 'tools'}"},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_make_takes_the_interpreter_of_the_script_unless_python_names_one(tmp_path: Path) -> None:
    chosen = install(tmp_path / "bin" / "python3")
    assert run_make(tmp_path).stdout == f"chosen: {chosen}\n"
    assert run_make(tmp_path, "PYTHON=/somewhere/python3").stdout == "chosen: /somewhere/python3\n"


def test_make_fails_without_an_interpreter(tmp_path: Path) -> None:
    done = run_make(tmp_path)
    assert done.returncode != 0
    assert "Python 3.11 or newer with pip" in done.stderr
    assert "chosen" not in done.stdout


# --- wheel -----------------------------------------------------------------------------------------------------------
# The wheel that `pip install penstock-queue` installs contains all files that Penstock needs at run time. Maps each
# file of the checkout to its path in the wheel.
PLACES = {
    "layers/core/penstock": "penstock",
    "layers/web/penstock_web": "penstock_web",
    "jobs/penstock_metrics": "penstock_metrics",
    "sql": "penstock/sql",
    "infra/pgbouncer": "penstock_web/local",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the wheel with pip's backend. Returns the wheel's contents."""
    folder = tmp_path_factory.mktemp("wheel")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def expected() -> set[str]:
    """Returns the files that git tracks or would track, without caches."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PLACES],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    files = set()
    for name in listed.stdout.split():
        source = next(source for source in PLACES if name.startswith(f"{source}/"))
        files.add(PLACES[source] + name.removeprefix(source))
    return files


def test_the_wheel_holds_every_file(installed: Path) -> None:
    """The wheel contains only code, SQL, files of PgBouncer, and files that commands print."""
    names = {str(file.relative_to(installed)) for file in installed.rglob("*") if file.is_file()}
    printed = {"alerts.yaml", "penstock.yaml", "service.lock"}
    printed |= {"dashboards/penstock.json", "dashboards/penstock-queue.json"}
    printed |= {f"systemd/{path.name}" for path in (ROOT / "infra/systemd").iterdir()}
    built = {"site.zip"} if (ROOT / "build/site.zip").exists() else set()  # `make dist` builds the wheel first
    files = {f"penstock_web/files/{name}" for name in printed | built}
    assert {name for name in names if ".dist-info/" not in name} == expected() | files
    assert {"penstock_web/local/auth_query.sql", "penstock_web/local/pgbouncer.ini.tmpl"} < names
    assert "penstock/sql/grants.sql" in names


def test_an_installed_package_finds_its_files(installed: Path) -> None:
    """The folder of the wheel is first on the path, so the package does not use files of a checkout."""
    code = (
        "from penstock.postgres import migrations; from penstock_web.local import pgbouncer\n"
        "names = ('auth_query.sql', 'pgbouncer.ini.tmpl')\n"
        "print(migrations.find_sql_directory(), *map(pgbouncer._configuration_file, names))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=installed,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [Path(word) for word in done.stdout.split()]
    assert len(paths) == 3
    assert all(path.is_relative_to(installed) and path.exists() for path in paths)


def test_the_wheel_of_the_worker_has_the_version_and_the_license(tmp_path: Path) -> None:
    source = ROOT / "layers/worker/penstock_worker"
    (wheel,) = WheelBuilder(str(source.parent)).build(directory=str(tmp_path), versions=["standard"])
    assert Path(wheel).name == f"penstock_worker-{__version__}-py3-none-any.whl"
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
        license_text = archive.read(f"penstock_worker-{__version__}.dist-info/licenses/LICENSE")
    expected = {f"penstock_worker/{path.name}" for path in source.iterdir() if path.is_file()}
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert license_text == (ROOT / "LICENSE").read_bytes()


# --- audit -----------------------------------------------------------------------------------------------------------
# Tests the output of `make audit` with vulnerabilities, without vulnerabilities, and without a connection.
@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ('echo "No known vulnerabilities found"', 0, "No known vulnerabilities found"),
        ('echo "Found 1 known vulnerability in 1 package"; echo "name id"; exit 1', 1, "name id"),
        ('echo "ERROR: x could not be audited"; exit 1', 2, "nothing was audited"),
        ('echo "ConnectionError"; exit 7', 2, "nothing was audited"),
    ],
)
def test_the_audit_script_reports_the_outcome(tmp_path: Path, program: str, code: int, said: str) -> None:
    audit = tmp_path / "pip-audit"
    audit.write_text(f"#!/bin/sh\n{program}\n")
    audit.chmod(0o755)
    command = [ROOT / "infra/local/audit.sh", audit]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout, said in done.stderr) == (code, "", True)
