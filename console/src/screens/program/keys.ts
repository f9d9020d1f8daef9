import { useQuery } from '@tanstack/react-query';
import { licet } from '../../api.ts';

/** Each example verifies the algorithm that its language supports without a library. */
export type Algorithm = 'ES256' | 'RS256';

const FORMS: Readonly<Record<Algorithm, RegExp>> = {
  ES256: /^[\w.-]{1,64}:[\w-]{43}\.[\w-]{43}$/,
  RS256: /^[\w.-]{1,64}:[\w-]{342}$/,
};

export const isPublicKey = (text: string, alg: Algorithm): boolean => FORMS[alg].test(text.trim());

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
