import { parseBoolean } from '../../src/lib/boolean-setting.ts';

/**
 * The network for requests to addresses that a person has entered. workerd checks the addresses that a name resolves to
 * when it connects, so that no name leads into the network of this machine. Miniflare's own network leads there.
 */
export const outboundNetwork = ({ OUTBOUND_PRIVATE }: Readonly<Record<string, unknown>>) => ({
  network: {
    allow: parseBoolean(OUTBOUND_PRIVATE) === true ? ['public', 'private'] : ['public'],
    deny: [],
    tlsOptions: { trustBrowserCas: true },
  },
});
