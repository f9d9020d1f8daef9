import type { License, LicenseRequest } from '@licet/client';
import { explainRefusal } from '@licet/contract/refusals';
import { useQuery } from '@tanstack/react-query';
import { TextLink } from '../../components/button.tsx';
import { Skeleton } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { Fixes } from '../history/pane.tsx';
import { requestsQuery } from './queries.ts';

const words = screenTexts.license;

/** The latest request with the key of a license, and the buttons that fix its refusal. */
export function Verdict({ license }: { license: License }) {
  const { data, error } = useQuery(requestsQuery(license.licenseKey));
  // The section of the history shows the failure.
  if (error) return null;
  return (
    <section
      aria-label={words.verdict}
      className="flex min-h-15 flex-col justify-center rounded-xl border border-line bg-surface px-4 py-4 sm:px-5"
    >
      {data === undefined ? (
        <div className="-m-5">
          <Skeleton lines={1} />
        </div>
      ) : data[0] === undefined ? (
        <p className="text-muted">{words.neverAsked}</p>
      ) : (
        <Latest license={license} record={data[0]} />
      )}
    </section>
  );
}

function Latest({ license, record }: { license: License; record: LicenseRequest }) {
  const { id, requestDate, ip, responseType } = record;
  const isValid = responseType === 'VALID';
  const { name = responseType, isStillRefused } = explainRefusal(record, { license });
  return (
    <div className="flex flex-col gap-3">
      <p className="text-base">
        {words.lastAsked}{' '}
        <TextLink
          to="/licenses/$licenseId"
          params={{ licenseId: license.id }}
          search={{ open: id }}
          resetScroll={false}
        >
          <Time value={requestDate} show="ago" />
        </TextLink>
        {ip !== null && (
          <>
            {' '}
            {words.from} <span className="font-mono text-[0.9375rem] break-words">{ip}</span>
          </>
        )}
        {': '}
        <strong
          className={`font-semibold ${isValid ? 'text-good' : isStillRefused ? 'text-bad' : 'text-muted'}`}
        >
          {isValid ? words.wasValid : words.wasRefused(name)}
        </strong>
      </p>
      {!isValid && isStillRefused && <Fixes record={record} />}
      {!isValid && !isStillRefused && <p className="text-muted">{words.causeGone}</p>}
    </div>
  );
}
