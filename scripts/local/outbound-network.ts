import { parseBoolean } from '../../src/lib/settings.ts';

/** Networks of IPv4 that are not public, although workerd takes them for public. */
const UNUSABLE = ['0.0.0.0/8', '198.18.0.0/15'];
const PRIVATE = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
];

/** The network behind NAT64, by which a machine without IPv4 reaches public hosts, too. */
function behindNat64(network: string): string {
  const [address, bits] = network.split('/');
  return `64:ff9b::${address}/${96 + Number(bits)}`;
}

/** A gateway, or this machine itself, can route requests to these addresses into its own network. */
const DENIED = [
  ...UNUSABLE,
  ...[...UNUSABLE, ...PRIVATE].map(behindNat64),
  // NAT64 of a single network, 6to4, IPv4 written as IPv6, and site-local addresses.
  '64:ff9b:1::/48',
  '2002::/16',
  '::/96',
  'fec0::/10',
];

const networkTo = (...allow: ('public' | 'private')[]) => ({
  network: { allow, deny: DENIED, tlsOptions: { trustBrowserCas: true } },
});

/**
 * The network for requests to addresses that a person has entered. When workerd connects, it checks the address to which
 * the name resolves: no name leads into the network of this machine. Miniflare's own network leads there.
 */
export const outboundNetwork = ({ OUTBOUND_PRIVATE }: Readonly<Record<string, unknown>>) =>
  parseBoolean(OUTBOUND_PRIVATE) === true ? networkTo('public', 'private') : networkTo('public');

/** The network for requests to the Discord of `DISCORD_URL` alone, which may be on this machine. */
export const discordNetwork = ({ DISCORD_URL = '' }: Readonly<Record<string, unknown>>) =>
  DISCORD_URL === '' ? {} : { DISCORD_NETWORK: networkTo('public', 'private') };

/** The network to the server of `MAIL` alone, which may be on this machine or in its network. */
export const mailNetwork = ({ MAIL = '' }: Readonly<Record<string, unknown>>) =>
  /^\s*smtps?:/.test(String(MAIL)) ? { MAIL_NETWORK: networkTo('public', 'private') } : {};
