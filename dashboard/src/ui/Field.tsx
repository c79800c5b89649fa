// Inputs with their labels, hints and errors.
import { type ComponentProps, type ReactNode, useId } from "react";
import { cx } from "@/lib/classes";

const CONTROL =
  "w-full rounded-6 border border-control bg-raised px-2.5 text-14 text-ink placeholder:text-ink3 aria-invalid:border-red";

type Labelled = { label: string; hint?: ReactNode; error?: string };

function useDescription({ hint, error }: Omit<Labelled, "label">) {
  const id = useId();
  const describedBy = error ? `${id}-error` : hint ? `${id}-hint` : undefined;
  const description = error ? (
    <span id={`${id}-error`} className="text-13 text-red">
      {error}
    </span>
  ) : hint ? (
    <span id={`${id}-hint`} className="text-13 text-ink3">
      {hint}
    </span>
  ) : null;
  return { id, describedBy, description };
}

export function Field({ label, hint, error, className, ...rest }: Labelled & ComponentProps<"input">) {
  const { id, describedBy, description } = useDescription({ hint, error });
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-13 font-strong">
        {label}
      </label>
      <input
        {...rest}
        id={id}
        aria-invalid={error ? true : undefined}
        aria-describedby={describedBy}
        className={cx(CONTROL, "min-h-row", className)}
      />
      {description}
    </div>
  );
}

export function TextArea({ label, hint, error, className, ...rest }: Labelled & ComponentProps<"textarea">) {
  const { id, describedBy, description } = useDescription({ hint, error });
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-13 font-strong">
        {label}
      </label>
      <textarea
        {...rest}
        id={id}
        aria-invalid={error ? true : undefined}
        aria-describedby={describedBy}
        className={cx(CONTROL, "min-h-20 py-1.5", className)}
      />
      {description}
    </div>
  );
}

/** Inputs for text that has to be exact: names, addresses, commits, patterns. The browser neither changes nor suggests it. */
const CODE = { autoCapitalize: "none", autoComplete: "off", spellCheck: false } as const;

export function CodeField({ className, ...rest }: ComponentProps<typeof Field>) {
  return <Field {...CODE} {...rest} className={cx("font-mono", className)} />;
}

export function CodeArea({ className, ...rest }: ComponentProps<typeof TextArea>) {
  return <TextArea {...CODE} {...rest} className={cx("font-mono text-12", className)} />;
}

export function Select({ label, hint, error, className, children, ...rest }: Labelled & ComponentProps<"select">) {
  const { id, describedBy, description } = useDescription({ hint, error });
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-13 font-strong">
        {label}
      </label>
      <select {...rest} id={id} aria-describedby={describedBy} className={cx(CONTROL, "min-h-row", className)}>
        {children}
      </select>
      {description}
    </div>
  );
}

/** A filter: the label is for screen readers, and `/` focuses it. */
export function Filter({ label, ...rest }: { label: string } & Omit<ComponentProps<"input">, "type">) {
  return (
    <input
      {...rest}
      type="search"
      data-filter=""
      aria-label={label}
      aria-keyshortcuts="/"
      placeholder={`${label}   /`}
      className={cx(CONTROL, "min-h-row md:w-60")}
    />
  );
}
