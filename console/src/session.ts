import type { ApiIntent } from '@licet/client';
import { INTENTS } from '@licet/contract/intents';
import { useQuery } from '@tanstack/react-query';
import { SESSION_QUERY, type Session } from './api.ts';
import { texts } from './texts.ts';

/** A kind of action for which the service requires an intent. */
export type Right = keyof typeof INTENTS;

/** The session of the page. Only for screens, which are never shown without a session. */
export function useSession(): Session {
  const { data } = useQuery(SESSION_QUERY);
  return data ?? { id: null, name: '', intents: [], expiresAt: null };
}

/** The reason why the session's token may not do something; undefined if it has one of the accepted intents. */
export function useRefusalOf(accepted: readonly ApiIntent[] = INTENTS.any): string | undefined {
  const { intents } = useSession();
  return intents.some((intent) => accepted.includes(intent))
    ? undefined
    : texts.errors.forbidden(accepted);
}

/** The reason why the session's token may not do something; undefined if it may. */
export const useRefusal = (right: Right): string | undefined => useRefusalOf(INTENTS[right]);

/** Whether the session's token may do something. */
export const useMay = (right: Right): boolean => useRefusal(right) === undefined;
