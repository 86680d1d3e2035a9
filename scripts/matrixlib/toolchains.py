"""The languages of published clients: how to pin and install packages, and how to run drivers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

WARM: Final = Path(__file__).with_name("warm.py")
_SECONDS: Final = 1800
_LINES: Final = 2
"""The number of lines in the message of a failed program."""
_UV: Final = "uv==0.13.8"
_NPM_QUIET: Final = ("--ignore-scripts=false", "--no-audit", "--no-fund", "--loglevel=error")
_CARGO_FILES: Final = ("Cargo.toml", "Cargo.lock")
_GO_FILES: Final = ("go.mod", "go.sum")
_MANIFEST: Final = """\
[package]
name = "drivers"
version = "0.0.0"
edition = "2024"
publish = false

[profile.dev]
debug = false

[dependencies]
"""
_MAVEN_PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.11.0:copy-dependencies"
_JARS_HEAD: Final = "# Every jar of the group, pinned by scripts/matrix --lock.\n"
_JAVA: Final = ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""Java options that shorten the start: the process ends before the second compiler would pay off."""
_POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>toolstream</groupId>
  <artifactId>drivers</artifactId>
  <version>0</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_ALONE: Final = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"


class InstallError(Exception):
    """A group cannot be installed; the message has the reason."""


class Toolchain(NamedTuple):
    """The toolchain of one language. Its functions raise `InstallError`."""

    drivers: str
    """The folder in `tests/clients/drivers`."""
    suffix: str
    """The file name suffix of a driver."""
    lock: str
    """The lock file of a group, below `tests/clients/locks`; `{}` is the name of the group."""
    version: Callable[[str, str], str | None]
    """Finds the version of a package in the text of a lock."""
    pin: Callable[[Sequence[str], Path, Path], None]
    """Writes a lock of the newest packages. Arguments: packages, lock, an empty folder."""
    install: Callable[[Path, Path], None]
    """Installs the packages of a lock. Arguments: lock, an empty folder."""
    command: Callable[[str, Path], list[str]]
    """Returns the command of a driver, which is compiled first if necessary."""
    needs: tuple[str, ...] = ()
    """Programs that must be in PATH."""
    requires: str = ""
    """The requirements in words."""
    serving: Callable[[str, Path], AbstractContextManager[None]] = lambda _driver, _folder: nullcontext()
    """Makes a driver start faster while its cases are run."""


def path_of(program: str) -> str:
    """The path of a program. Raises `InstallError` if it is missing."""
    if found := shutil.which(program):
        return found
    raise InstallError(f"{program} is not installed")


def run(*command: str | Path, folder: Path | None = None) -> None:
    """Run a program. Raises `InstallError` if it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise InstallError(f"{Path(words[0]).name} did not end within {_SECONDS} s") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        why = [line.strip() for line in lines if "error" in line.lower()][:_LINES] or lines[-1:]
        raise InstallError(f"{Path(words[0]).name}: {'; '.join(why)}")


def _python_version(lock: str, package: str) -> str | None:
    match = re.search(rf"^{re.escape(package)}==(\S+)", lock, re.MULTILINE)
    return match and match[1]


def _python_pin(wanted: Sequence[str], lock: Path, folder: Path) -> None:
    """Pin for every Python that toolstream supports."""
    requirements = folder / "requirements.in"
    requirements.write_text("\n".join(wanted))
    how = ("--custom-compile-command", "scripts/matrix --lock", "--no-annotate")
    silent = ("--quiet", "--no-emit-index-url", "--no-emit-find-links")
    pins = ("--universal", "--python-version", "3.12", "--generate-hashes", "--upgrade")
    run(_uv(), "pip", "compile", requirements, *pins, *silent, *how, "--output-file", lock)


def _python_install(lock: Path, folder: Path) -> None:
    """Install without pip, with bytecode: runs may not write it if the environment forbids that."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    how = ("--quiet", "--compile-bytecode", "--require-hashes", "--python", folder / "bin" / "python")
    run(_uv(), "pip", "install", *how, "-r", lock)


def cache_folder() -> Path:
    """The folder of installed packages and of results."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "toolstream" / "clients"


def _uv() -> str | Path:
    """The program `uv`, which is installed in the cache if it is not in PATH."""
    if found := shutil.which("uv"):
        return found
    tools = cache_folder() / "tools"
    if not (tools / "bin" / "uv").exists():
        run(sys.executable, "-m", "venv", tools)
        run(tools / "bin" / "python", "-m", "pip", "install", "--quiet", _UV)
    return tools / "bin" / "uv"


def _warm(folder: Path, driver: str, *verbs: str) -> list[str]:
    socket = folder / f"{Path(driver).stem}.socket"
    return [*map(str, (folder / "bin" / "python", WARM, *verbs, socket, folder / "drivers" / driver))]


@contextmanager
def _python_serving(driver: str, folder: Path) -> Iterator[None]:
    """A process that has imported the packages of the driver, and forks."""
    devnull = subprocess.DEVNULL
    words = _warm(folder, driver, "serve")
    with subprocess.Popen(words, stdin=devnull, stdout=devnull, stderr=devnull) as process:
        try:
            yield
        finally:
            process.kill()


def _npm_version(lock: str, package: str) -> str | None:
    found = json.loads(lock)["packages"].get(f"node_modules/{package}", {}).get("version")
    return None if found is None else str(found)


def _npm_pin(wanted: Sequence[str], lock: Path, folder: Path) -> None:
    """Pin without registry URLs."""
    (folder / "package.json").write_text(json.dumps({"private": True, "type": "module"}))
    only = ("--package-lock-only", "--save-exact", "--omit-lockfile-registry-resolved=true")
    run(path_of("npm"), "install", *only, *_NPM_QUIET, *wanted, folder=folder)
    shutil.copy(folder / "package.json", lock.parent)
    pinned = without_missing(json.loads((folder / lock.name).read_text(encoding="utf-8")))
    lock.write_text(json.dumps(pinned, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def without_missing(lock: dict[str, Any]) -> dict[str, Any]:
    """A lock without optional dependencies that the registry does not have.

    npm omits such a package from the lock, but not from the dependencies of others, and `npm ci` then rejects the lock.
    """
    names = {path.rpartition("node_modules/")[2] for path in lock["packages"]}
    packages = {path: dict(package) for path, package in lock["packages"].items()}
    for package in packages.values():
        if wanted := package.get("optionalDependencies"):
            package["optionalDependencies"] = {name: wanted[name] for name in wanted if name in names}
    return {**lock, "packages": packages}


def _npm_install(lock: Path, folder: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(lock.with_name(name), folder)
    run(path_of("npm"), "ci", *_NPM_QUIET, folder=folder)


def _cargo_version(lock: str, package: str) -> str | None:
    """The version of the first crate of that name."""
    crates = tomllib.loads(lock)["package"]
    return next((str(one["version"]) for one in crates if one["name"] == package), None)


def _cargo_pin(wanted: Sequence[str], lock: Path, folder: Path) -> None:
    """Pin the newest version of each crate. An element of `wanted` has the arguments of `cargo add`."""
    (folder / "Cargo.toml").write_text(_MANIFEST)
    (folder / "src").mkdir()
    (folder / "src" / "lib.rs").touch()
    for crate in wanted:
        run(path_of("cargo"), "add", "--quiet", *crate.split(), folder=folder)
    run(path_of("cargo"), "generate-lockfile", "--quiet", folder=folder)
    for name in _CARGO_FILES:
        shutil.copy(folder / name, lock.parent)


def _cargo_install(lock: Path, folder: Path) -> None:
    """Download only: the first driver compiles the packages."""
    package = folder / "drivers"
    (package / "src").mkdir(parents=True)
    (package / "src" / "lib.rs").touch()
    for name in _CARGO_FILES:
        shutil.copy(lock.with_name(name), package)
    run(path_of("cargo"), "fetch", "--locked", "--quiet", folder=package)


def _cargo_command(driver: str, folder: Path) -> list[str]:
    package, name = folder / "drivers", PurePath(driver).stem
    run(path_of("cargo"), "build", "--locked", "--quiet", "--bin", name, folder=package)
    return [str(package / "target" / "debug" / name)]


def _go_version(lock: str, package: str) -> str | None:
    match = re.search(rf"^(?:require )?\s*{re.escape(package)} v(\S+)", lock, re.MULTILINE)
    return match and match[1]


def _go_pin(wanted: Sequence[str], lock: Path, folder: Path) -> None:
    """Pin the newest version of each package. The packages are those that the drivers import."""
    run(path_of("go"), "mod", "init", "drivers", folder=folder)
    run(path_of("go"), "get", *(f"{one}@latest" for one in wanted), folder=folder)
    for name in _GO_FILES:
        shutil.copy(folder / name, lock.parent)


def _go_install(lock: Path, folder: Path) -> None:
    """Copy the lock only: the first driver downloads and compiles the packages."""
    (folder / "drivers").mkdir()
    for name in _GO_FILES:
        shutil.copy(lock.with_name(name), folder / "drivers")


def _go_command(driver: str, folder: Path) -> list[str]:
    program = folder / "bin" / PurePath(driver).stem
    run(path_of("go"), "build", "-mod=readonly", "-o", program, driver, folder=folder / "drivers")
    return [str(program)]


class Jar(NamedTuple):
    """The coordinates of a jar in Maven."""

    group: str
    artifact: str
    version: str
    classifier: str = ""

    @property
    def file(self) -> str:
        """The file name of the jar."""
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"

    def dependency(self, more: str = "") -> str:
        """The `dependency` element of a POM."""
        values = zip(("groupId", "artifactId", "version", "classifier"), self, strict=True)
        words = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in values if value)
        return f"    <dependency>{words}{more}</dependency>"


def jar_of(path: PurePath) -> Jar:
    """The jar of a path in a repository: `group/parts/artifact/version/artifact-version[-classifier].jar`."""
    *group, artifact, version, name = path.parts
    classifier = name.removeprefix(f"{artifact}-{version}").removesuffix(".jar").removeprefix("-")
    return Jar(".".join(group), artifact, version, classifier)


def _maven_version(lock: str, package: str) -> str | None:
    return next((jar.version for jar, _ in _jars(lock) if f"{jar.group}:{jar.artifact}" == package), None)


def _maven_pin(wanted: Sequence[str], lock: Path, folder: Path) -> None:
    """Write a lock, which Maven does not have: a line `group:artifact:version[:classifier] sha256:HEX` for each jar.

    An element of `wanted` is `group:artifact:version`, where the version may be `RELEASE` or a range.
    """
    jars = _copied(folder, (Jar(*one.split(":")).dependency() for one in wanted))
    lines = sorted(f"{':'.join(filter(None, jar))} sha256:{_hash(path)}" for jar, path in jars)
    lock.write_text(_JARS_HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def _maven_install(lock: Path, folder: Path) -> None:
    """Install exactly the jars of the lock, with the same content."""
    hashes = dict(_jars(lock.read_text(encoding="utf-8")))
    (folder / "jars").mkdir()
    for jar, path in _copied(folder, (jar.dependency(_ALONE) for jar in hashes)):
        if hashes.pop(jar, None) != _hash(path):
            raise InstallError(f"{jar.file} differs from the lock")
        shutil.move(path, folder / "jars" / jar.file)
    if hashes:
        raise InstallError(f"{next(iter(hashes)).file} was not found")


def _maven_command(driver: str, folder: Path) -> list[str]:
    """Compile the driver's class with its dependencies in the folder."""
    jars, classes, sources = folder / "jars" / "*", folder / "classes", folder / "drivers"
    source = ("-sourcepath", sources, sources / driver)
    run(path_of("javac"), "--release", "17", "-nowarn", "-proc:none", "-cp", jars, "-d", classes, *source)
    return [*_JAVA, "-cp", os.pathsep.join((str(classes), str(jars))), PurePath(driver).stem]


def _copied(folder: Path, dependencies: Iterable[str]) -> list[tuple[Jar, Path]]:
    """Copy the jars of these dependencies to a folder with the layout of a Maven repository."""
    (folder / "pom.xml").write_text(_POM.format(dependencies="\n".join(dependencies)), encoding="utf-8")
    repository = folder / "repository"
    layout = ("-Dmdep.useRepositoryLayout=true", f"-DoutputDirectory={repository}")
    only = ("-DincludeScope=runtime", "-DincludeTypes=jar")
    run(path_of("mvn"), "-q", "-B", "-f", folder / "pom.xml", _MAVEN_PLUGIN, *layout, *only)
    return [(jar_of(path.relative_to(repository)), path) for path in sorted(repository.rglob("*.jar"))]


def _jars(lock: str) -> Iterator[tuple[Jar, str]]:
    for name, digest in re.findall(r"^([^#\s]+) sha256:(\w+)$", lock, re.MULTILINE):
        yield Jar(*name.split(":")), digest


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


PYTHON: Final = Toolchain(
    "python", ".py", "{}.txt", _python_version, _python_pin, _python_install,
    lambda driver, folder: _warm(folder, driver), serving=_python_serving,
)  # fmt: skip
TOOLCHAINS: Final = {
    "python": PYTHON,
    "npm": Toolchain(
        "javascript", ".mjs", "{}/package-lock.json", _npm_version, _npm_pin, _npm_install,
        lambda driver, folder: ["node", str(folder / "drivers" / driver)], ("node", "npm"), "node, npm",
    ),
    "maven": Toolchain(
        "java", ".java", "{}/jars.lock", _maven_version, _maven_pin, _maven_install,
        _maven_command, ("java", "javac", "mvn"), "JDK 17 or newer, mvn",
    ),
    "cargo": Toolchain(
        "rust", ".rs", "{}/Cargo.lock", _cargo_version, _cargo_pin, _cargo_install,
        _cargo_command, ("cargo", "cc"), "cargo, cc",
    ),
    "go": Toolchain("go", ".go", "{}/go.mod", _go_version, _go_pin, _go_install, _go_command, ("go",), "go 1.26"),
}  # fmt: skip
"""By the key of a group's packages in clients.toml."""
