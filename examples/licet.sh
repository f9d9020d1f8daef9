#!/bin/sh
# Asks Licet whether a license key may run here. A POSIX shell, and curl; see README.md.

licet_timeout_seconds=10
licet_retry_seconds=2
licet_grace_hours=72

licet_sha256() {
  if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1
}

licet_json() {
  printf '"%s"' "$(printf '%s' "$1" | tr -d '\000-\037' | sed 's/[\\"]/\\&/g')"
}

licet_hardware_id() {
  machine=$(cat /etc/machine-id 2>/dev/null)
  printf '%s\n%s\n%s' "$machine" "$(uname -n)" "$(id -un)" | licet_sha256
}

# Sends $body; sets valid to true, to false, or to nothing where the service cannot be reached, and text.
licet_ask() {
  valid= pause=$licet_retry_seconds
  connect=$((licet_timeout_seconds < 5 ? licet_timeout_seconds : 5))
  if ! answer=$(printf '%s' "$body" | curl -q -sS -i --suppress-connect-headers \
    --connect-timeout $connect --max-time "$licet_timeout_seconds" -A licet-client/1 \
    -H 'Content-Type: application/json' --data-binary @- "$url/api/v1/validate" 2>&1); then
    text=$(printf '%s\n' "$answer" | grep '^curl: ')
    return
  fi
  answer=$(printf '%s\n' "$answer" | tr -d '\r')
  status=$(printf '%s\n' "$answer" | sed -n '1s/^HTTP[^ ]* \([0-9]*\).*/\1/p')
  said=$(printf '%s\n' "$answer" | sed '1,/^$/d' | tr -d '\n')
  text=$(printf '%s\n' "$said" | sed -nE 's/^\{.*"message": *"(([^"\\]|\\.)*)".*/\1/p' | sed 's/\\\(.\)/\1/g')
  case "$status $(printf '%s\n' "$said" | sed -nE 's/^\{.*"valid": *(true|false).*/\1/p')" in
    '200 true') valid=true ;;
    '400 false' | '413 false') valid=false ;;
    *)
      text="${status:+HTTP $status}" text="${text:-no HTTP answer}"
      after=$(printf '%s\n' "$answer" | sed -n '/^$/q; s/^[Rr]etry-[Aa]fter: *\([0-9]\{1,9\}\)$/\1/p')
      pause=${after:-$pause}
      ;;
  esac
}

# licet_check URL PRODUCT_ID PRODUCT_VERSION LICENSE_KEY MARK_FILE
# In the mark file is the time of the last good answer. Prints a line for the user. Its status is 0 where
# the program may run, 1 for a license that is refused, 2 where the service cannot be reached.
licet_check() (
  url=$1 product=$2 key=$4 file=$5
  hwid=$(licet_hardware_id)
  mark_of() { printf '%s ' "$1"; printf '%s\n%s\n%s\n%s' "$1" "$key" "$product" "$hwid" | licet_sha256; }
  body="{\"licenseKey\":$(licet_json "$key"),\"productId\":$product,\"hwid\":\"$hwid\","
  body="$body\"productVersion\":$(licet_json "$3"),\"operatingSystem\":$(licet_json "$(uname -s)"),"
  body="$body\"osVersion\":$(licet_json "$(uname -r)"),\"osArchitecture\":$(licet_json "$(uname -m)")}"
  licet_ask
  if [ -z "$valid" ] && [ "$pause" -le 10 ]; then
    sleep "$pause"
    licet_ask
  fi
  now=$(date +%s)
  if [ "$valid" = true ]; then
    mark_of "$now" 2>/dev/null >"$file"
    printf '%s\n' "$text"
    return 0
  elif [ "$valid" = false ]; then
    rm -f "$file"
    printf '%s\n' "License refused: $text"
    return 1
  fi
  problem="The license service cannot be reached ($text)."
  mark=$(cat "$file" 2>/dev/null)
  time=${mark%% *}
  if [ -n "$mark" ] && [ "$mark" = "$(mark_of "$time")" ]; then
    age=$((now - time))
    left=$((licet_grace_hours * 3600 - ${age#-}))
    if [ $left -gt 0 ]; then
      printf '%s\n' "$problem The last good answer counts for $(((left + 3599) / 3600)) h more."
      return 0
    fi
  fi
  printf '%s\n' "$problem Check the network connection and try again."
  return 2
)

# From here on it is tried out; no part of your program.
product=$(printf '%s' "$LICET_PRODUCT_ID" | sed '/[^0-9]/d')
if [ -z "$LICET_URL" ] || [ -z "$product" ] || [ -z "$LICET_KEY" ]; then
  echo 'Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.' >&2
  exit 3
fi
licet_timeout_seconds=${LICET_TIMEOUT_SECONDS:-10}
licet_retry_seconds=${LICET_RETRY_SECONDS:-2}
licet_check "$LICET_URL" "$LICET_PRODUCT_ID" 1.0.0 "$LICET_KEY" "${LICET_MARK:-licet.mark}"
