import { useQuery } from '@tanstack/react-query';
import { Circle, CircleCheck, X } from 'lucide-react';
import { useEffect, useState } from 'react';
import { queries } from '../../api';
import { ButtonLink, IconButton, TextLink } from '../../components/button';
import { useMay } from '../../session';
import { texts } from '../../texts';
import { STEPS, type StepName, stepsQuery } from './queries';

const words = texts.firstSteps;
const DISMISSED = 'licet.first-steps.dismissed';

const LINKS = {
  product: { to: '/products', search: { open: 'new' } },
  license: { to: '/licenses/new' },
  program: { to: '/program' },
  validation: { to: '/history' },
  token: { to: '/tokens' },
} as const satisfies Record<StepName, object>;

/**
 * The steps from an empty service to a running one, which tick off by themselves; only for those who may do them
 * all. `isNeeded` until all are done or somebody has dismissed them.
 */
export function useFirstSteps() {
  const mayAll = useMay('everything');
  const [isDismissed, setDismissed] = useState(() => localStorage.getItem(DISMISSED) !== null);
  const { data: done } = useQuery({ ...stepsQuery, enabled: mayAll && !isDismissed });
  const isDone = done !== undefined && STEPS.every((step) => done[step]);
  // They stay to show the last tick to those who have seen the first.
  const [wasSeen, setWasSeen] = useState(false);
  if (done && !isDone && !wasSeen) setWasSeen(true);
  const dismiss = (): void => {
    localStorage.setItem(DISMISSED, 'true');
    setDismissed(true);
  };
  return {
    done,
    isEmpty: mayAll && done?.product === false,
    isShown: mayAll && !isDismissed && done !== undefined && (!isDone || wasSeen),
    isDone,
    dismiss,
  };
}

/** The list of the steps. */
export function FirstSteps({
  done,
  isDone,
  dismiss,
}: {
  done: Record<StepName, boolean>;
  isDone: boolean;
  dismiss: () => void;
}) {
  const next = STEPS.find((step) => !done[step]);
  const count = STEPS.filter((step) => done[step]).length;
  // What a step has made appears below at once.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each step that is done changes the count
  useEffect(() => {
    for (const name of ['history', 'products', 'events']) {
      void queries.invalidateQueries({ queryKey: [name] });
    }
  }, [count]);
  return (
    <section
      aria-label={words.title}
      className="rounded-xl border border-line bg-surface px-4 py-4 sm:px-5"
    >
      <div className="flex items-start gap-3">
        <div className="flex-1">
          <h2 className="text-base font-semibold">{isDone ? words.doneTitle : words.title}</h2>
          <p role="status" className="text-muted">
            {isDone ? words.done : words.progress(count, STEPS.length)}
          </p>
        </div>
        <IconButton label={words.dismiss} className="-mt-1 -mr-2" onClick={dismiss}>
          <X size={18} aria-hidden />
        </IconButton>
      </div>
      <ol className="mt-3 flex flex-col">
        {STEPS.map((step) => {
          const isNext = step === next;
          const Icon = done[step] ? CircleCheck : Circle;
          const { title, lead, action } = words.steps[step];
          return (
            <li
              key={step}
              aria-current={isNext ? 'step' : undefined}
              className="flex gap-3 border-line py-3 not-last:border-b"
            >
              <Icon
                size={20}
                aria-label={done[step] ? words.isDone : words.isOpen}
                className={`mt-px shrink-0 ${done[step] ? 'text-good' : isNext ? 'text-accent' : 'text-edge'}`}
              />
              <div className="flex min-w-0 flex-1 flex-wrap items-center gap-x-4 gap-y-2">
                <div className="min-w-48 flex-1">
                  <p className={done[step] ? 'text-muted' : 'font-medium'}>{title}</p>
                  {isNext && <p className="max-w-prose text-muted">{lead}</p>}
                  {isNext && step === 'validation' && done.program && (
                    <p className="mt-1 text-warn">
                      {words.refused}{' '}
                      <TextLink to="/history" search={{ valid: false }}>
                        {words.toRefusals}
                      </TextLink>
                    </p>
                  )}
                </div>
                {isNext && (
                  <ButtonLink {...LINKS[step]} look="primary">
                    {action}
                  </ButtonLink>
                )}
              </div>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
