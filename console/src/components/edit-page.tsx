import type { LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { texts } from '../texts.ts';
import { ButtonLink } from './button.tsx';
import { Page } from './page.tsx';

/** The screen that edits one object. */
export const EditPage = ({ name, children }: { name: string; children: ReactNode }) => (
  <Page title={texts.editTitle(name)}>
    <div className="max-w-3xl rounded-xl border border-line bg-surface p-4 sm:p-5">{children}</div>
  </Page>
);

/** Leaves a form for the screen that shows the object. */
export const Cancel = (props: LinkProps) => (
  <ButtonLink {...props} look="quiet">
    {texts.actions.cancel}
  </ButtonLink>
);
