import { MAX_HWID_BYTES, MAX_SEARCH_LENGTH } from '@licet/contract/limits';
import {
  type ComponentProps,
  createContext,
  type InputEvent,
  type ReactNode,
  type SubmitEvent,
  useContext,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { fieldErrors } from '../api.ts';
import { texts } from '../texts.ts';
import { ChevronDown } from './icons.tsx';
import { Notice } from './page.tsx';

/** Forms that show each message of the service's 400 beside the field that it is about. */

const Errors = createContext<Readonly<Record<string, string>>>({});

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** The fault of a field's value by its attributes, such as `required`; undefined for none. */
function faultOf(control: Control): string | undefined {
  const { validity } = control;
  if (!control.willValidate || validity.valid) return undefined;
  const { faults } = texts.errors;
  if (validity.badInput) return control.type === 'date' ? faults.date : faults.number;
  if (control instanceof HTMLSelectElement) return faults.choice;
  if (validity.valueMissing) return faults.missing;
  if (control instanceof HTMLTextAreaElement) return control.validationMessage;
  if (validity.rangeUnderflow) return faults.atLeast(control.min);
  if (validity.rangeOverflow) return faults.atMost(control.max);
  if (validity.stepMismatch) return faults.whole;
  return control.validationMessage;
}

/** The faults of a form's fields by their names, as the service reports them too. The browser's own are bubbles. */
function faultsOf(form: HTMLFormElement): Readonly<Record<string, string>> {
  const faults: Record<string, string> = {};
  for (const control of form.querySelectorAll<Control>('input, select, textarea')) {
    const fault = faultOf(control);
    if (fault !== undefined) faults[control.name] ??= fault;
  }
  return faults;
}

interface FormProps {
  /** Called with the fields. The form shows the error that it throws. */
  onSubmit: (data: FormData) => Promise<void>;
  /** The buttons; `isBusy` while the submission runs. */
  buttons: (isBusy: boolean) => ReactNode;
  children: ReactNode;
  className?: string;
}

/** A form. Its fields are those of this file, or native ones. */
export function Form({
  onSubmit,
  buttons,
  children,
  className = 'flex flex-col gap-5',
}: FormProps) {
  const [isBusy, setBusy] = useState(false);
  const [errors, setErrors] = useState<ReturnType<typeof fieldErrors>>();
  const form = useRef<HTMLFormElement>(null);
  const submit = async (event: SubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setErrors(undefined);
    const names = Array.from(event.currentTarget.elements, (element) =>
      element.getAttribute('name'),
    ).filter((name) => name !== null);
    const show = (found: ReturnType<typeof fieldErrors>): void => {
      setErrors(found);
      const [first] = Object.keys(found.byField);
      if (first) form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(first)}"]`)?.focus();
    };
    try {
      const byField = faultsOf(event.currentTarget);
      if (Object.keys(byField).length > 0) show({ byField, rest: undefined });
      else await onSubmit(new FormData(event.currentTarget));
    } catch (error) {
      show(fieldErrors(error, names));
    } finally {
      setBusy(false);
    }
  };
  /** The error was about the value before. */
  const forget = ({ target }: InputEvent<HTMLFormElement>): void => {
    const name = target instanceof Element && target.getAttribute('name');
    if (!errors || !name || !Object.hasOwn(errors.byField, name)) return;
    const { [name]: _, ...byField } = errors.byField;
    // A checkbox is changed after this event: a render before that would set it back.
    setTimeout(() => setErrors({ ...errors, byField }));
  };
  return (
    <Errors value={errors?.byField ?? {}}>
      <form ref={form} onSubmit={submit} onInput={forget} noValidate className={className}>
        {children}
        <div className="flex flex-col gap-3 in-data-dialog:sticky in-data-dialog:bottom-0 in-data-dialog:-mx-4 in-data-dialog:border-t in-data-dialog:border-line in-data-dialog:bg-raised in-data-dialog:px-4 in-data-dialog:py-3 in-data-dialog:sm:-mx-5 in-data-dialog:sm:px-5">
          {/* Beside the button that was used, because the form may be longer than the screen. */}
          {errors?.rest && <Notice tone="bad">{errors.rest}</Notice>}
          <div className="flex flex-wrap items-center gap-2">{buttons(isBusy)}</div>
        </div>
      </form>
    </Errors>
  );
}

const CONTROL =
  'min-h-9 w-full rounded-lg border bg-surface px-3 py-1.5 text-base text-ellipsis placeholder:text-sm placeholder:text-muted aria-invalid:border-bad pointer-coarse:min-h-11 sm:text-sm';

interface FieldProps {
  label: string;
  name: string;
  hint?: string | undefined;
  /** The fault of a value that is judged while it is typed. */
  error?: string | undefined;
}

/** A control with its label, hint and error, and the attributes that connect them. */
function Field({
  label,
  name,
  hint,
  error: typedError,
  control,
}: FieldProps & {
  control: (tied: {
    id: string;
    name: string;
    'aria-describedby': string | undefined;
    'aria-invalid': true | undefined;
  }) => ReactNode;
}) {
  const id = useId();
  const error = useContext(Errors)[name] ?? typedError;
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div className="flex min-w-0 flex-col gap-1.5">
      <label htmlFor={id} className="font-medium break-words">
        {label}
      </label>
      {control({
        id,
        name,
        'aria-describedby': described || undefined,
        'aria-invalid': error ? true : undefined,
      })}
      {error && (
        <p id={`${id}-error`} role="alert" className="text-bad">
          {error}
        </p>
      )}
      {hint && (
        <p id={`${id}-hint`} className="text-xs text-muted">
          {hint}
        </p>
      )}
    </div>
  );
}

/** One line of text, a number, a date; `type` as in HTML. The children stand below it. */
export const TextField = ({
  label,
  hint,
  error,
  name,
  children,
  ...props
}: FieldProps & Omit<ComponentProps<'input'>, 'name'>) => (
  <Field
    label={label}
    name={name}
    hint={hint}
    error={error}
    control={(tied) => (
      <>
        <input autoComplete="off" {...props} {...tied} className={`${CONTROL} border-edge`} />
        {children}
      </>
    )}
  />
);

/** Several lines of text. */
export const TextArea = ({
  label,
  hint,
  name,
  ...props
}: FieldProps & Omit<ComponentProps<'textarea'>, 'name'>) => (
  <Field
    label={label}
    name={name}
    hint={hint}
    control={(tied) => (
      <textarea rows={3} {...props} {...tied} className={`${CONTROL} border-edge`} />
    )}
  />
);

/** A switch, with its hint below its label. */
export const CheckField = ({
  label,
  hint,
  ...props
}: { label: string; hint: string } & ComponentProps<'input'>) => (
  <label className="flex items-start gap-3">
    <input {...props} type="checkbox" className="mt-0.5 shrink-0" />
    <span>
      <span className="font-medium">{label}</span>
      <span className="block text-xs text-muted">{hint}</span>
    </span>
  </label>
);

/** Gives the focus to a control that is there after the next render, in the place of one that is gone. */
export const focusSoon = (name: string): void =>
  void setTimeout(() => document.getElementsByName(name)[0]?.focus());

const SELECT = 'appearance-none truncate pr-7';

/** The arrow of a select, alike in every browser. */
const Arrow = ({ children }: { children: ReactNode }) => (
  <span className="relative block min-w-0">
    {children}
    <ChevronDown
      size={16}
      aria-hidden
      className="pointer-events-none absolute top-1/2 right-2.5 -translate-y-1/2 text-muted"
    />
  </span>
);

/** Fields of one subject, side by side if there is room. */
export const FieldGroup = ({
  title,
  isCard = false,
  children,
}: {
  title?: string;
  /** On a surface of its own. */
  isCard?: boolean;
  children: ReactNode;
}) => (
  <fieldset
    className={`grid min-w-0 gap-x-4 gap-y-5 sm:grid-cols-2 ${isCard ? 'rounded-xl border border-line bg-surface p-4 sm:p-5' : ''}`}
  >
    {/* Floating takes it from the border of the fieldset into the grid. */}
    {title && <legend className="float-left -mb-2 font-semibold sm:col-span-2">{title}</legend>}
    {children}
  </fieldset>
);

/** Controls that make one value together, with their label and error. */
export function ControlGroup({ label, name, children }: FieldProps & { children: ReactNode }) {
  const id = useId();
  const error = useContext(Errors)[name];
  return (
    <fieldset aria-describedby={error && `${id}-error`} className="flex min-w-0 flex-col gap-3">
      <legend className="mb-1.5 font-medium">{label}</legend>
      {error && (
        <p id={`${id}-error`} role="alert" className="text-bad">
          {error}
        </p>
      )}
      {children}
    </fieldset>
  );
}

type Options<Value = string> = readonly (readonly [value: Value, label: string])[];

/** A choice of one option. */
export function SelectField({
  label,
  hint,
  name,
  options,
  defaultValue,
  ...props
}: FieldProps & { options: Options } & Omit<ComponentProps<'select'>, 'name'>) {
  // Preact would replace the viewer's choice by another default value.
  const [first] = useState(defaultValue);
  return (
    <Field
      label={label}
      name={name}
      hint={hint}
      control={(tied) => (
        <Arrow>
          <select
            {...props}
            defaultValue={first}
            {...tied}
            className={`${CONTROL} ${SELECT} border-edge`}
          >
            {optionsOf(options)}
          </select>
        </Arrow>
      )}
    />
  );
}

/** Options must be direct children of the select: Preact sets its default value only then. */
const optionsOf = (options: Options<string | number>) =>
  options.map(([value, label]) => (
    <option key={value} value={value}>
      {label}
    </option>
  ));

/** A filter above a table: its label is for screen readers, and its first option names it. */
export const FilterSelect = <Value extends string | number>({
  label,
  any,
  options,
  value,
  onChange,
}: {
  label: string;
  /** The first option, which chooses none of the others; without it, one is always chosen. */
  any?: string;
  options: Options<Value>;
  value: Value | undefined;
  onChange: (value: Value | undefined) => void;
}) => (
  <Arrow>
    <select
      aria-label={label}
      value={value ?? ''}
      onChange={({ target }) =>
        onChange(options.find(([known]) => String(known) === target.value)?.[0])
      }
      className={`${CONTROL} ${SELECT} md:w-auto md:max-w-51 ${any === undefined || value === undefined ? 'border-line' : 'border-accent bg-accent-soft'}`}
    >
      {optionsOf(any === undefined ? options : [['', any], ...options])}
    </select>
  </Arrow>
);

/** A filter for a product; nothing without products. */
export const FilterProduct = ({
  label,
  names,
  value,
  onChange,
}: {
  label: string;
  names: ReadonlyMap<number, string>;
  value: number | undefined;
  onChange: (productId: number | undefined) => void;
}) =>
  names.size > 0 && (
    <FilterSelect
      label={label}
      any={texts.table.anyProduct}
      options={[...names]}
      value={value}
      onChange={onChange}
    />
  );

/** A filter for a day, such as `2035-12-31`; empty for none. */
export const FilterDay = ({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) => (
  <label className="flex min-w-0 items-center gap-2 text-muted max-md:col-span-2">
    <span className="max-md:w-10">{label}</span>
    <input
      type="date"
      // The viewer is still typing a day while its year is incomplete.
      min="2000-01-01"
      max="9999-12-31"
      value={value}
      onChange={({ target }) => {
        if (target.validity.valid) onChange(target.value);
      }}
      className={`${CONTROL} text-ink md:w-auto ${value === '' ? 'border-line' : 'border-accent bg-accent-soft'}`}
    />
  </label>
);

const REST_MS = 300;

/** A filter for text. Searches 300 ms after the last key, and at once with Enter. */
export function FilterText({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  const [sent, setSent] = useState(value);
  if (value !== known) {
    setKnown(value);
    // The value from the address may be older than the text typed since: only a value not sent from here replaces it.
    if (value !== sent) setTyped(value);
  }
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const send = (text: string): void => {
    clearTimeout(timer.current);
    setSent(text);
    if (text !== value) onChange(text);
  };
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      maxLength={MAX_SEARCH_LENGTH}
      value={typed}
      onChange={({ target }) => {
        setTyped(target.value);
        clearTimeout(timer.current);
        const text = target.value.trim();
        // A search reads many rows, too many for fewer than three characters.
        if (text.length > 0 && text.length < 3) return;
        const { pathname } = location;
        timer.current = setTimeout(() => {
          // This screen stays until the next one has loaded, and would lead back.
          if (location.pathname === pathname) send(text);
        }, REST_MS);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter') send(event.currentTarget.value.trim());
      }}
      // A short label leaves room for the filters beside it.
      className={`${CONTROL} border-line ${label.length < 20 ? 'md:w-46' : 'md:w-54'}`}
    />
  );
}

/** A filter for a whole value, such as an address. Searches with Enter, and when the field loses the focus. */
export function FilterExact({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  /** Called with undefined for an empty field. */
  onChange: (value: string | undefined) => void;
}) {
  const send = (input: HTMLInputElement): void => {
    const text = input.value.trim();
    if (text !== value) onChange(text === '' ? undefined : text);
  };
  return (
    <input
      // A new value from the address replaces the typed text.
      key={value}
      type="search"
      aria-label={label}
      placeholder={label}
      maxLength={MAX_HWID_BYTES}
      defaultValue={value}
      spellCheck="false"
      autoCapitalize="none"
      onKeyDown={(event) => {
        if (event.key === 'Enter') send(event.currentTarget);
      }}
      onBlur={({ currentTarget }) => send(currentTarget)}
      className={`${CONTROL} md:w-34 ${value === '' ? 'border-line' : 'border-accent bg-accent-soft'}`}
    />
  );
}
