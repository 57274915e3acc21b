"""Recipes by which other package managers fetch the archives of a release."""

from program import MAN, SHELLS, Program


def homebrew(about: str, version: str, url: str, programs: list[Program], sums: dict[str, str]) -> str:
    """A formula for Homebrew."""
    places = "".join(
        f"""    on_{program.row["brew"]} do
      url "{url}/aside-{program.target}.tar.gz"
      sha256 "{sums[program.target]}"
    end
"""
        for program in programs
    )
    return f"""class Aside < Formula
  desc "{about}"
  homepage "{url.split("/releases/")[0]}"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on :linux

  on_linux do
{places}  end

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
        f"""source_{arch}=("aside-$pkgver-{arch}.tar.gz::{url}/aside-{target}.tar.gz")
sha256sums_{arch}=('{sums[target]}')
"""
        for arch, target in ((program.row["arch"], program.target) for program in programs)
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
