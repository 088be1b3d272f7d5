# What a machine has: the archive of bench/gpu/pack.mjs, and a torch for GPUs.

# use_archive: unpacks it, unless it is unpacked already; one of other sources is refused.
use_archive() {
  local of=${archive%/*} digest
  digest=$(bash bench/gpu/digest.sh)
  if [ "$digest" != "$(cat "$of/digest")" ]; then
    echo "$archive: expected one of these sources, got one of commit $(cat "$of/commit"). Remedy: node bench/gpu/pack.mjs, or remove $of."
    return 1
  fi
  [ "$(cat "$build/unpacked" 2>/dev/null)" != "$digest $(sha256sum <"$archive")" ] || return 0
  tar -xJf "$archive" || python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(".")' "$archive"
  # When all of it is there: what was cut off is unpacked again.
  echo "$digest $(sha256sum <"$archive")" >"$build/unpacked"
}
export -f use_archive

# use_node: the one of the archive, where there is one. cmake-js takes Node's headers from there.
use_node() {
  [ -x $carried/node/bin/node ] || return 0
  export PATH=$PWD/$carried/node/bin:$PATH npm_config_nodedir=$PWD/$carried/node
}

# torch_of PYTHON: the folder of its torch for GPUs, or nothing.
torch_of() {
  "$1" -c 'import importlib.util, os
found = importlib.util.find_spec("torch")
folder = os.path.dirname(found.origin) if found and found.origin else ""
print(folder if os.path.exists(folder + "/lib/libtorch_cuda.so") else "")' 2>/dev/null || true
}

# use_torch: the first Python here that has a torch for GPUs; its cmake and ninja come with it. Nothing is ever downloaded.
use_torch() {
  local python folder
  for python in python3 ~/*/bin/python3 ~/.*/bin/python3 ~/*/*/bin/python3 /opt/*/bin/python3 /opt/*/*/bin/python3 \
    /*/bin/python3 /usr/local/*/bin/python3 /*/*/bin/python3; do
    python=$(command -v "$python") || continue
    folder=$(torch_of "$python")
    [ -n "$folder" ] || continue
    echo "torch: $folder"
    export PATH="$(dirname "$python"):$PATH" SEEKRL_LIBTORCH=${SEEKRL_LIBTORCH:-$folder}
    return 0
  done
  [ -z "${SEEKRL_LIBTORCH:-}" ] || return 0
  echo "No Python here has a torch for GPUs. Remedy: put its bin folder first in PATH, or name torch's in SEEKRL_LIBTORCH."
  return 1
}
