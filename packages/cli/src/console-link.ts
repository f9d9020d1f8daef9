import { localConsoleName, newLoginCode } from '@licet/contract/login-code';

/** The hosts that a name under `.localhost` leads to. */
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/** The address of the console of a service. On this machine its host has a name of its own, over http. */
export async function consoleUrl(service: URL, rootToken: string): Promise<URL> {
  const url = new URL('/console', service);
  if (url.protocol === 'http:' && LOOPBACK.test(url.hostname)) {
    url.hostname = await localConsoleName(rootToken, url);
  }
  return url;
}

/**
 * A link that logs in to the console as ROOT_TOKEN, once and within five minutes. The code is in the fragment, which
 * a browser leaves out of requests.
 */
export async function consoleLink(url: URL, rootToken: string): Promise<string> {
  const link = await consoleUrl(url, rootToken);
  link.hash = `code=${await newLoginCode(rootToken, Date.now())}`;
  return link.href;
}
