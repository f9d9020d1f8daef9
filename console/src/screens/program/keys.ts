import { useQuery } from '@tanstack/react-query';
import { licet } from '../../api.ts';
import type { Algorithm, screenTexts } from '../../screen-texts.ts';

const FORMS: Readonly<Record<Algorithm, RegExp>> = {
  ES256: /^[\w.-]{1,64}:[\w-]{43}\.[\w-]{43}$/,
  RS256: /^[\w.-]{1,64}:[\w-]{342}$/,
};

const afterKid = (key: string): string => key.slice(key.indexOf(':') + 1);

/** The reason why a text is no spare key beside that of the service; undefined for a spare key. */
export function faultOfSpareKey(
  text: string,
  alg: Algorithm,
  serviceKey: string,
): keyof typeof screenTexts.program.spareFaults | undefined {
  if (/"d"\s*:|PRIVATE KEY/.test(text)) return 'private';
  if (/\S\s+\S/.test(text)) return 'several';
  if (FORMS[alg === 'ES256' ? 'RS256' : 'ES256'].test(text)) return 'otherKind';
  if (!FORMS[alg].test(text)) return 'form';
  return afterKid(text) === afterKid(serviceKey) ? 'first' : undefined;
}

/** The public keys of the service, as programs have them built in, the default key first; undefined until they are known. */
export function usePublicKeys(alg: Algorithm): string[] | undefined {
  const { data } = useQuery({
    queryKey: ['signing-keys'],
    queryFn: ({ signal }) => licet.signingKeys({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data?.keys
    .filter((key) => key.alg === alg)
    .map((key) => `${key.kid}:${key.kty === 'EC' ? `${key.x}.${key.y}` : key.n}`);
}
