"""Recipes by which other package managers fetch the archives of a release."""

import json

from program import MAN, SHELLS, Program


def homebrew(about: str, version: str, url: str, programs: list[Program], sums: dict[str, str]) -> str:
    """A formula for Homebrew."""
    systems = ""
    for system in ("macos", "linux"):
        places = "".join(
            f"""    on_{program.row["brew"]} do
      url "{url}/{program.archive}"
      sha256 "{sums[program.target]}"
    end
"""
            for program in programs
            if program.row["system"] == system
        )
        if places:
            systems += f"\n  on_{system} do\n{places}  end\n"
    return f"""class Aside < Formula
  desc "{about}"
  homepage "{url.split("/releases/")[0]}"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]
{systems}
  def install
    bin.install "bin/aside"
    bash_completion.install "{SHELLS["bash"]}"
    zsh_completion.install "{SHELLS["zsh"]}"
    fish_completion.install "{SHELLS["fish"]}"
    man1.install Dir["{MAN}/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/aside --version")
  end
end
"""


def arch_linux(about: str, version: str, url: str, programs: list[Program], sums: dict[str, str]) -> str:
    """A PKGBUILD for Arch Linux."""
    names = " ".join(f"'{program.row['arch']}'" for program in programs)
    sources = "".join(
        f"""source_{arch}=("aside-$pkgver-{arch}.tar.gz::{url}/{program.archive}")
sha256sums_{arch}=('{sums[program.target]}')
"""
        for arch, program in ((program.row["arch"], program) for program in programs)
    )
    return f"""pkgname=aside-bin
pkgver={version}
pkgrel=1
pkgdesc='{about}'
url='{url.split("/releases/")[0]}'
arch=({names})
license=('MIT OR Apache-2.0')
depends=('bubblewrap')
provides=('aside')
conflicts=('aside')
options=('!strip')
{sources}
package() {{
    cd "aside-{version}"
    install -Dm755 bin/aside "$pkgdir/usr/bin/aside"
    cp -r share "$pkgdir/usr/share"
    install -Dm644 -t "$pkgdir/usr/share/licenses/$pkgname" LICENSE-*
}}
"""


def scoop(about: str, version: str, url: str, programs: list[Program], sums: dict[str, str]) -> str:
    """A manifest for Scoop."""
    manifest = {
        "version": version,
        "description": about,
        "homepage": url.split("/releases/")[0],
        "license": "MIT|Apache-2.0",
        "architecture": {
            program.row["scoop"]: {"url": f"{url}/{program.archive}", "hash": sums[program.target]} for program in programs
        },
        "extract_dir": f"aside-{version}",
        "bin": "bin\\aside.exe",
    }
    return json.dumps(manifest, indent=4) + "\n"
