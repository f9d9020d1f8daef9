import { Badge } from '../../components/badge.tsx';
import { EndTime, Time } from '../../components/time.tsx';
import { screenTexts } from '../../screen-texts.ts';

/** The times of a token, in the list and on its page. */

const words = screenTexts.tokens;

const Never = () => <span className="text-muted">{words.never}</span>;

export const Expiry = ({
  expiresAt,
  isListed = false,
}: {
  expiresAt: string | null;
  isListed?: boolean;
}) =>
  expiresAt === null ? (
    <Never />
  ) : Date.parse(expiresAt) <= Date.now() ? (
    <Badge tone="bad">{words.expired}</Badge>
  ) : isListed ? (
    <EndTime value={expiresAt} />
  ) : (
    <Time value={expiresAt} show="end" />
  );

export const LastUse = ({ lastUsedAt }: { lastUsedAt: string | null }) =>
  lastUsedAt === null ? <Never /> : <Time value={lastUsedAt} show="ago" />;
