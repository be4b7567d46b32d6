# Sourced by the scripts beside it: goes to the root of the checkout and gives
# Bazel what it needs to start.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Bazel keeps its output below the home directory of a named user; minimal
# containers and services name neither.
export USER="${USER:-$(id -un)}"
if [[ -z ${HOME:-} || ! -w ${HOME:-} ]]; then
  HOME="$(getent passwd "$(id -u)" | cut -d: -f6)"
  export HOME
fi

# Links of a Bazel with another output root (another user's, say) would be
# taken for packages of this workspace. Bazel makes its own anew.
remove_foreign_links() {
  local link target
  for link in bazel-*; do
    [[ -L $link ]] || continue
    target="$(readlink "$link")"
    [[ $target == "$HOME"/.cache/bazel/_bazel_"$USER"/* ]] || rm -f "$link"
  done
}
remove_foreign_links
