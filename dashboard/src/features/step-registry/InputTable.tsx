// The inputs of a step.
import type { ReactNode } from "react";
import { step as texts } from "@/texts/en/registryStep";
import { type Column, Table } from "@/ui/Table";
import { allowedOf } from "./allowed";
import { scalarText } from "./example";
import type { Input } from "./manifest";

export function InputTable({ inputs }: { inputs: readonly Input[] }) {
  return <Table label={texts.inputs} columns={COLUMNS} rows={inputs} rowKey={({ name }) => name} />;
}

const code = (text: string): ReactNode => <code className="text-12 wrap-anywhere">{text}</code>;

const COLUMNS: Column<Input>[] = [
  {
    name: texts.name,
    phone: true,
    cell: ({ name }) => <code className="block text-13 font-bold wrap-anywhere md:min-w-28">{name}</code>,
  },
  { name: texts.type, phone: true, tight: true, cell: ({ type }) => <span className="text-13">{type}</span> },
  {
    name: texts.required,
    phone: true,
    tight: true,
    cell: ({ required }) => (
      <span className="text-13">
        <span className="max-md:hidden">{required ? texts.yes : texts.no}</span>
        <span className="md:hidden">{required ? texts.requiredMark : texts.optionalMark}</span>
      </span>
    ),
  },
  {
    name: texts.default,
    phone: true,
    cell: ({ default: value }) =>
      value === undefined ? (
        <span className="text-ink3 max-md:hidden">{texts.none}</span>
      ) : (
        <>
          <span className="text-13 text-ink3 md:hidden">{texts.defaultMark} </span>
          {code(scalarText(value))}
        </>
      ),
  },
  { name: texts.allowed, phone: true, cell: (input) => <Allowed input={input} /> },
  {
    name: texts.description,
    phone: true,
    line: true,
    cell: ({ description }) => <span className="text-13 wrap-anywhere text-ink2">{description}</span>,
  },
];

function Allowed({ input }: { input: Input }) {
  const { choices, rules } = allowedOf(input);
  if (choices.length === 0 && rules.length === 0 && input.pattern === undefined)
    return <span className="text-13 text-ink3 max-md:hidden">{texts.anyValue}</span>;
  return (
    <span className="flex flex-wrap gap-x-2 gap-y-0.5">
      {choices.map((choice) => (
        <code key={choice} className="rounded-4 bg-sunken px-1 text-12 wrap-anywhere">
          {choice}
        </code>
      ))}
      {rules.map((rule) => (
        <span key={rule} className="text-13">
          {rule}
        </span>
      ))}
      {input.pattern !== undefined && (
        <span className="text-13">
          {texts.pattern} {code(input.pattern)}
        </span>
      )}
    </span>
  );
}
