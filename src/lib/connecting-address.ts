import { canonicalAddress, isInNetworks } from '@licet/contract/addresses';

/** The part of a request that says where it comes from. */
interface Incoming {
  readonly headers: Headers;
  readonly cf?: unknown;
}

/** The other end of the connection, which workerd gives as `192.0.2.1:50000`, `[::1]:50000` or `[fe80::1%eth0]:50000`. */
function peerOf({ cf }: Incoming): string | null {
  const clientIp = typeof cf === 'object' && cf !== null && 'clientIp' in cf ? cf.clientIp : null;
  if (typeof clientIp !== 'string') return null;
  return canonicalAddress(clientIp.replace(/:\d+$/, '').replace(/^\[([^%]*).*\]$/, '$1'));
}

let isUnnamedLogged = false;

function logUnnamed(): void {
  if (isUnnamedLogged) return;
  isUnnamedLogged = true;
  const message =
    'A proxy of TRUSTED_PROXIES sends no IP address in CF-Connecting-IP. Its own address counts as that of its clients: let it set the header';
  console.warn(JSON.stringify({ message }));
}

/**
 * The canonical address from which a request came (1.2): that of `CF-Connecting-IP`, never that of
 * `X-Forwarded-For`. A trusted proxy that names no address there counts as the client: the limits need one.
 * Null if it is unknown.
 *
 * @param trustedProxies the networks whose header counts; undefined where only the platform can set it
 */
export function connectingAddressOf(
  request: Incoming,
  trustedProxies: readonly string[] | undefined,
): string | null {
  const peer = trustedProxies ? peerOf(request) : null;
  if (trustedProxies && (peer === null || !isInNetworks(trustedProxies, peer))) return peer;
  const named = request.headers.get('CF-Connecting-IP');
  const address = named === null ? peer : canonicalAddress(named);
  if (address === null && peer !== null) logUnnamed();
  return address ?? peer;
}
