#!/bin/sh
# Asks Licet whether a license key may run here. A POSIX shell, and curl; with public keys openssl too; see
# README.md.

licet_timeout_seconds=10
licet_retry_seconds=2
licet_grace_hours=72
licet_line_feed='
'

licet_sha256() {
  if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1
}

# licet_text TEXT: prints it without the control characters that are not sent.
licet_text() {
  printf '%s' "$1" | tr -d '\000-\010\012-\037'
}

# licet_json TEXT: prints it as JSON, escaped as the service does.
licet_json() {
  printf '"%s"' "$(licet_text "$1" | sed "s/[\\\\\"]/\\\\&/g; s/$(printf '\t')/\\\\t/g")"
}

licet_hardware_id() {
  machine=$(cat /etc/machine-id 2>/dev/null)
  printf '%s\n%s\n%s' "$machine" "$(uname -n)" "$(id -un)" | licet_sha256
}

# licet_installation_id FILE: prints the id of this installation; draws it at the first start. It survives updates
# and new containers.
licet_installation_id() (
  if [ ! -e "$1" ]; then
    id=$(od -A n -N 16 -t x1 /dev/urandom | tr -d ' \n')
    draft=$1.$id.tmp
    trap 'rm -f "$draft"' EXIT
    # Unlike a rename, a link never replaces the id of another process. Some file systems have none.
    printf '%s\n' "$id" >"$draft" && { ln "$draft" "$1" || [ -e "$1" ] || mv "$draft" "$1"; }
  fi 2>/dev/null
  cat "$1" 2>/dev/null
)

licet_base64url() {
  openssl base64 -A | tr '/+' '_-' | tr -d '='
}

licet_from_base64url() {
  printf '%s%s' "$1" "$(printf '%*s' $(((4 - ${#1} % 4) % 4)) '' | tr ' ' =)" | tr '_-' '/+' | openssl base64 -d -A
}

# licet_verified JWS TYP NONCE: prints the claims of a JWS that a key of $public_keys signed and that has this
# type and this nonce (none for ''), and $product, $sub and $hwid. The service writes JSON without blanks, and
# escapes quotes in texts: "name":"value" is found as a member only.
licet_verified() (
  signature=${1##*.} signed=${1%.*}
  # 256 bytes in base64url, of which the unused bits are 0: openssl takes more.
  [ ${#signature} -eq 342 ] || return 1
  case $signature in *[!A-Za-z0-9_-]* | *[!AQgw]) return 1 ;; esac
  header=$(licet_from_base64url "${signed%%.*}")
  folder=$(mktemp -d) || return 1
  trap 'rm -rf "$folder"' EXIT
  for key in $public_keys; do
    # The pinned key decides about the algorithm, never the header.
    # 2048 bits: the first is set.
    case ${key#*:} in [!ghijklmnopqrstuvwxyz0123456789_-]*) continue ;; esac
    alg='"alg":"RS256"' kid="\"kid\":\"${key%%:*}\"" typ="\"typ\":\"$2\""
    [ ${#header} -eq $((${#alg} + ${#kid} + ${#typ} + 4)) ] || continue
    case $header in *"$alg"*) ;; *) continue ;; esac
    case $header in *"$kid"*) ;; *) continue ;; esac
    case $header in *"$typ"*) ;; *) continue ;; esac
    # Before the modulus: RSA, 2048 bits. Behind it: the exponent 65537.
    key=$(printf '%s' "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA${key#*:}IDAQAB" | tr '_-' '/+' | fold -w 64)
    printf '%s\n' '-----BEGIN PUBLIC KEY-----' "$key" '-----END PUBLIC KEY-----' >"$folder/key"
    licet_from_base64url "$signature" >"$folder/signature"
    printf '%s' "$signed" |
      openssl dgst -sha256 -verify "$folder/key" -signature "$folder/signature" >/dev/null 2>&1 || return 1
    claims=$(licet_from_base64url "${signed#*.}")
    case $claims in *"\"aud\":\"$product\""*) ;; *) return 1 ;; esac
    case $claims in *"\"sub\":\"$sub\""*) ;; *) return 1 ;; esac
    case $claims in *"\"hwid\":$(licet_json "$hwid")"*) ;; *) return 1 ;; esac
    case $claims in *"${3:+\"nonce\":\"$3\"}"*) ;; *) return 1 ;; esac
    printf '%s\n' "$claims"
    return 0
  done
  return 1
)

# licet_advise MESSAGE: prints a message of the service, and the buyer's next step after a refusal.
licet_advise() {
  case $1 in
    'License not found or invalid')
      echo "$1. Copy the key from your purchase again, and check that it is for this program."
      ;;
    'License is deactivated')
      echo "$1. Ask the seller of the program for the reason."
      ;;
    'License has expired')
      echo "$1. Renew it with the seller of the program, and start the program again."
      ;;
    'Max IPs reached')
      echo "$1. Other addresses use all its slots. Free one on your customer page, or ask the seller."
      ;;
    'Max HWIDs reached')
      echo "$1. Other machines use all its slots. Free one on your customer page, or ask the seller."
      ;;
    'IP address is blacklisted' | 'Hardware ID is blacklisted')
      echo "$1. The seller of the program has blocked it. Ask the seller for the reason."
      ;;
    *) printf '%s\n' "$1" ;;
  esac
}

# Sends $body; sets valid to true, to false, or to nothing where the service cannot be reached; text, status and
# lease.
licet_ask() {
  valid= status= pause=$licet_retry_seconds
  connect=$((licet_timeout_seconds < 5 ? licet_timeout_seconds : 5))
  if ! answer=$(printf '%s' "$body" | curl -q -sS -i --suppress-connect-headers \
    --connect-timeout $connect --max-time "$licet_timeout_seconds" -A licet-client/2 \
    -H 'Content-Type: application/json' --data-binary @- "$url/api/v1/validate" 2>&1); then
    text=$(printf '%s\n' "$answer" | grep '^curl: ')
    return
  fi
  answer=$(printf '%s\n' "$answer" | tr -d '\r')
  status=$(printf '%s\n' "$answer" | sed -n '1s/^HTTP[^ ]* \([0-9]*\).*/\1/p')
  said=$(printf '%s\n' "$answer" | sed '1,/^$/d' | tr -d '\n')
  lease=$(printf '%s\n' "$said" | sed -nE 's/^\{.*"lease": *"([^"]*)".*/\1/p')
  if [ -n "$public_keys" ]; then
    signed=$(printf '%s\n' "$said" | sed -nE 's/^\{.*"signed": *"([^"]*)".*/\1/p')
    said=$(licet_verified "$signed" licet-validation+jwt "$nonce")
    how=signed
  else
    how=$status
  fi
  text=$(printf '%s\n' "$said" | sed -nE 's/^\{.*"message": *"(([^"\\]|\\.)*)".*/\1/p' | sed 's/\\\(.\)/\1/g')
  case "$how $(printf '%s\n' "$said" | sed -nE 's/^\{.*"valid": *(true|false).*/\1/p')" in
    '200 true' | 'signed true') valid=true ;;
    '400 false' | '413 false' | 'signed false') valid=false ;;
    *)
      text="${status:+HTTP $status}" text="${text:-no HTTP answer}"
      after=$(printf '%s\n' "$answer" | sed -n '/^$/q; s/^[Rr]etry-[Aa]fter: *\([0-9]\{1,9\}\)$/\1/p')
      pause=${after:-$pause}
      ;;
  esac
}

# licet_misformed PUBLIC_KEYS: prints the problem of a public key that is none.
licet_misformed() (
  [ -n "$1" ] || return 1
  rest="$1 "
  while [ -n "$rest" ]; do
    key=${rest%% *} rest=${rest#* }
    kid=${key%%:*} modulus=${key#*:}
    case $kid.$modulus in
      .* | *[!A-Za-z0-9_.-]*) ;; # no kid, or a character that is in no key
      *) [ ${#kid} -gt 64 ] || [ ${#modulus} -ne 342 ] || continue ;;
    esac
    echo "'$key' is no public key; it has the form KID:KEY, where KEY is 342 characters (RS256, the rs- key)"
    return 0
  done
  return 1
)

# licet_time NAME: prints a time of $claims, or nothing.
licet_time() {
  printf '%s\n' "$claims" | sed -n "s/.*\"$1\":\([0-9]\{1,12\}\)[,}].*/\1/p"
}

# licet_time_to_check OTHERWISE: prints the earlier time of $claims; without a time to check, as given.
licet_time_to_check() (
  at=$(licet_time checkAfter) end=$(licet_time entitlementsUntil)
  at=${at:-$1}
  [ -z "$end" ] || [ "$end" -ge "$at" ] || at=$end
  echo "$at"
)

# Sets check_after and entitlements by $claims, for a program that may run.
licet_run() {
  [ -n "$public_keys" ] || claims=
  # Earlier by up to a tenth, so that programs that started together do not ask together.
  early=$(($(od -A n -N 2 -t u2 /dev/urandom) * 8640 / 65536))
  check_after=$(licet_time_to_check $((now + 86400 - early)))
  entitlements=$(printf '%s\n' "$claims" | sed -n 's/.*"entitlements":"\([^"\\]*\)".*/\1/p')
}

licet_mark_of() {
  printf '%s ' "$1"
  printf '%s\n%s\n%s\n%s' "$1" "$key" "$product" "$hwid" | licet_sha256
}

licet_keep_lease() {
  (umask 077 && printf '%s %s' "$1" "$2" >"$file.tmp" && mv -f "$file.tmp" "$file") 2>/dev/null
}

# licet_read_lease JWS: sets the claims and the times of a lease that fits.
licet_read_lease() {
  claims=$(licet_verified "$1" licet-lease+jwt '') || return 1
  issued=$(licet_time iat) expires=$(licet_time exp)
  [ -n "$issued" ] && [ -n "$expires" ]
}

# licet_read_kept [start]: sets left, for how long the lease in the file counts, and its claims. At a start it counts
# only until it is time to check. Keeps the latest time seen.
licet_read_kept() {
  left=0 now=$(date +%s) mark=$(cat "$file" 2>/dev/null)
  licet_read_lease "${mark%% *}" || return 1
  seen=${mark#* }
  case $seen in '' | *[!0-9]*) seen=$((now + 2 * 86400)) ;; esac # unreadable: the lease does not count
  [ "$seen" -ge "$issued" ] || seen=$issued
  # The clock may be a day wrong: time zones differ that much.
  [ "$now" -lt $((seen - 86400)) ] || left=$((expires - now))
  [ -z "${1:-}" ] || [ "$(licet_time_to_check 0)" -gt "$now" ] || left=0
  [ $left -le 0 ] || [ "$now" -le "$seen" ] || licet_keep_lease "${mark%% *}" "$now"
  [ $left -gt 0 ]
}

# licet_decide MOVE: asks the service first. Prints the message.
licet_decide() {
  body="$fields$1}"
  if [ -n "$public_keys" ]; then
    nonce=$(openssl rand -hex 16) || return 2
    signed_fields="$fields$1,\"nonce\":\"$nonce\",\"lease\":true,\"kid\":\""
    body="$signed_fields${public_keys%%:*}\"}"
  fi
  licet_ask
  if [ -z "$valid" ] && [ "$pause" -le 10 ]; then
    sleep "$pause"
    # 400 may mean that the service no longer has the first key.
    if [ -n "$public_keys" ] && [ "$status" = 400 ]; then
      second=${public_keys##* }
      body="$signed_fields${second%%:*}\"}"
    fi
    licet_ask
  fi
  now=$(date +%s)
  if [ "$valid" = true ]; then
    claims=$said
    licet_run
    if [ -z "$public_keys" ]; then
      licet_mark_of "$now" 2>/dev/null >"$file"
    elif licet_read_lease "$lease"; then
      licet_keep_lease "$lease" "$issued"
    fi
    printf '%s\n' "$text"
    return 0
  elif [ "$valid" = false ]; then
    rm -f "$file"
    printf '%s\n' "License refused: $(licet_advise "$text")"
    return 1
  fi
  problem="The license service cannot be reached ($text)."
  advice='Check the network connection and try again.'
  case ${public_keys:+signed}$status in
    signed200 | signed400) # the service signs these: no fault of the network
      problem="The response has no valid signature of this service ($text)."
      advice='If this continues, ask the seller of the program.'
      ;;
  esac
  left=0
  if [ -z "$public_keys" ]; then
    mark=$(cat "$file" 2>/dev/null)
    time=${mark%% *}
    if [ -n "$mark" ] && [ "$mark" = "$(licet_mark_of "$time")" ]; then
      age=$((now - time))
      left=$((licet_grace_hours * 3600 - ${age#-}))
    fi
  else
    licet_read_kept
  fi
  if [ $left -gt 0 ]; then
    licet_run
    printf '%s\n' "$problem The last good answer counts for $(((left + 3599) / 3600)) h more."
    return 0
  fi
  printf '%s\n' "$problem $advice"
  return 2
}

# licet_start MOVE, and the arguments of licet_check. Prints the message.
licet_start() {
  move=$1
  shift
  url=$1 product=$2 key=$(licet_text "$4") file=$5 public_keys=${6:-} hwid=${7:-}
  case $url in
    [Hh][Tt][Tt][Pp]://?* | [Hh][Tt][Tt][Pp][Ss]://?*) ;;
    *)
      echo "'$url' is no address of a service; url has the form https://license.example.com"
      return 3
      ;;
  esac
  licet_misformed "$public_keys" && return 3
  case $key in
    *[![:space:]]*) ;;
    *)
      printf '%s %s\n' 'License refused: no license key is set.' \
        'Enter the key from your purchase in the configuration, and start the program again.'
      return 1
      ;;
  esac
  if [ -z "$hwid" ]; then
    id_file=$(dirname "$file")/licet-id
    if ! hwid=$(licet_installation_id "$id_file"); then
      printf '%s %s\n' "$id_file cannot be read or written: it keeps the id of this installation." \
        'Check the permissions and the free space there.'
      return 2
    fi
    case ${#hwid}$hwid in
      32*[!0-9a-f]*) hwid= ;;
      32*) ;;
      *) hwid= ;;
    esac
    if [ -z "$hwid" ]; then
      printf '%s %s\n' "$id_file does not hold the id of an installation." \
        'Restore the file, or delete it: then this counts as a new installation.'
      return 2
    fi
  fi
  fields="{\"licenseKey\":$(licet_json "$key"),\"productId\":$product,\"hwid\":$(licet_json "$hwid"),"
  fields="$fields\"productVersion\":$(licet_json "$3"),\"operatingSystem\":$(licet_json "$(uname -s)"),"
  fields="$fields\"osVersion\":$(licet_json "$(uname -r)"),\"osArchitecture\":$(licet_json "$(uname -m)")"
  if [ -n "$public_keys" ]; then
    sub=$(printf '%s' "$key" | openssl dgst -sha256 -binary | licet_base64url)
    if [ -z "$move" ] && licet_read_kept start; then
      # Asks beside, also when the program has ended.
      (trap '' HUP && licet_decide '') </dev/null >/dev/null 2>&1 &
      licet_run
      echo 'License is valid'
      return 0
    fi
  fi
  licet_decide "$move"
}

# licet_answer MOVE, and the arguments of licet_check. All but the answer stays in a shell of its own.
licet_answer() {
  licet_all=$(
    check_after=0 entitlements= ended=0
    licet_start "$@" || ended=$?
    printf '%s %s' $check_after "$entitlements"
    exit $ended
  ) && licet_ended=0 || licet_ended=$?
  licet_last=${licet_all##*"$licet_line_feed"}
  licet_check_after=${licet_last%% *} licet_entitlements=${licet_last#* }
  printf '%s\n' "${licet_all%"$licet_line_feed"*}"
  return $licet_ended
}

# licet_check URL PRODUCT_ID PRODUCT_VERSION LICENSE_KEY MARK_FILE [PUBLIC_KEYS [HWID]]
# In the mark file is the time of the last good answer; with public keys (KID:N of one or two RS256 keys, with a
# space between) the lease, and only signed answers count. The hwid takes the place of the id of the installation,
# where README.md says so. Prints a line for the user. Its status is 0 where the
# program may run, 1 for a license that is refused, 2 where the service cannot be reached, 3 for a url or a
# public key that is none. In $licet_check_after are the seconds since 1970 after which to ask again, or 0.
licet_check() {
  licet_answer '' "$@"
}

# licet_move, and the arguments of licet_check: moves the license to this machine. Only for the command of a person.
licet_move() {
  licet_answer ',"takeOver":true' "$@"
}

# licet_entitlement NAME: prints its value by the last check, "true" for one without a value. Its status is 1 if the
# license has none. Needs public keys, and a check outside of $(...).
licet_entitlement() (
  case $1 in '' | *=*) return 1 ;; esac
  rest="$licet_entitlements "
  while [ -n "$rest" ]; do
    part=${rest%% *} rest=${rest#* }
    case $part in
      "$1") part="$1=true" ;;
      "$1="?*) ;;
      *) continue ;;
    esac
    printf '%s\n' "${part#*=}"
    return 0
  done
  return 1
)

# From here on it is tried out; no part of your program, which reads this file by `.`.
[ "${0##*/}" = licet.sh ] || return 0
product=$(printf '%s' "$LICET_PRODUCT_ID" | sed '/[^0-9]/d')
if [ -z "$LICET_URL" ] || [ -z "$product" ] || [ -z "$LICET_KEY" ]; then
  echo 'Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.' >&2
  exit 3
fi
public_keys="$LICET_PUBLIC_KEYS"
licet_timeout_seconds=${LICET_TIMEOUT_SECONDS:-10}
licet_retry_seconds=${LICET_RETRY_SECONDS:-2}
call=licet_check
[ "${LICET_MOVE:-}" != 1 ] || call=licet_move
$call "$LICET_URL" "$LICET_PRODUCT_ID" 1.0.0 "$LICET_KEY" "${LICET_MARK:-licet.mark}" "$public_keys"
status=$?
if [ -n "${LICET_ENTITLEMENT:-}" ]; then
  value=$(licet_entitlement "$LICET_ENTITLEMENT") && value="=$value"
  printf '%s\n' "$LICET_ENTITLEMENT$value"
fi
exit $status
