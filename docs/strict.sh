set -eo pipefail
