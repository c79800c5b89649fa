// Reads the value from the form's uncontrolled inputs, empties them, and returns the value or a validation error.
import { useRef, useState } from "react";
import { type Take, takeFrom, type ValueMistake } from "./value";

export function useTake() {
  const [mistake, setMistake] = useState<ValueMistake | undefined>();
  const isReading = useRef(false);
  /** `isSent`: all else in the form is right. Returns nothing if there is nothing to send. */
  const take = async (form: HTMLFormElement, isSent: boolean): Promise<Take | undefined> => {
    // A file takes time to read; a second submission meanwhile would send it twice.
    if (isReading.current) return undefined;
    isReading.current = true;
    try {
      const value = await takeFrom(form, isSent);
      setMistake(value.mistake);
      return isSent && value.mistake === undefined ? value.take : undefined;
    } finally {
      isReading.current = false;
    }
  };
  return { mistake, take };
}
