import { useEffect } from 'react';
import { queries } from '../../api.ts';
import { ButtonLink, IconButton, TextLink } from '../../components/button.tsx';
import { Circle, CircleCheck, X } from '../../components/icons.tsx';
import { screenTexts } from '../../screen-texts.ts';
import { ALL_STEPS, STEPS, type StepName } from './queries.ts';

const words = screenTexts.firstSteps;

const LINKS = {
  product: { to: '/products', search: { open: 'new' } },
  license: { to: '/licenses/new' },
  program: { to: '/program' },
  validation: { to: '/history' },
  token: { to: '/tokens', search: { open: 'new' } },
  market: { to: '/markets', search: { open: 'new' } },
} as const satisfies Record<StepName, object>;

/** The list of the steps. */
export default function FirstSteps({
  done,
  isDone,
  dismiss,
}: {
  done: Record<StepName, boolean>;
  isDone: boolean;
  dismiss: () => void;
}) {
  const next = ALL_STEPS.find((step) => !done[step]);
  const count = STEPS.filter((step) => done[step]).length;
  // The result of a step appears below at once.
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
        {ALL_STEPS.map((step) => {
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
