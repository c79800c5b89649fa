//! What the attribute makes of signatures and bodies: these functions compile, and return boxed futures.
#![expect(clippy::panic, reason = "a test may")]

use std::cell::Cell;
use std::num::ParseIntError;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use greenroom_boxed_futures::boxed_futures;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

struct Words<'a>(Vec<&'a str>);

#[boxed_futures]
impl<'a> Words<'a> {
    /// The elided lifetime of the result is that of `self`.
    pub async fn longest(&self, other: &str) -> &str {
        std::future::ready(()).await;
        self.0
            .iter()
            .max_by_key(|word| word.len())
            .filter(|word| word.len() > other.len())
            .map_or("", |word| word)
    }

    pub async fn push(&mut self, word: &'a str) -> usize {
        self.0.push(word);
        self.0.len()
    }

    pub async fn parse(self) -> Result<i32, ParseIntError> {
        let first: i32 = self.0[0].parse()?;
        if first < 0 {
            return Ok(0);
        }
        Ok(first + self.0[1].parse::<i32>()?)
    }

    /// With a type parameter, it stays as it is: its future need not be `Send`.
    pub async fn visit(&self, visit: impl Fn(&str)) {
        std::future::ready(()).await;
        self.0.iter().for_each(|word| visit(word));
    }
}

#[boxed_futures]
pub async fn sum(numbers: &[i32], (first, second): (i32, i32)) -> i32 {
    numbers.iter().sum::<i32>() + first + second
}

/// Counts how many of its kind were dropped.
struct Guard<'a>(&'a AtomicUsize);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Guarded<'a> {
    dropped: &'a AtomicUsize,
    _guard: Guard<'a>,
}

#[boxed_futures]
impl Guarded<'_> {
    /// Uses one field of each, and returns how many guards were dropped before it ended.
    pub async fn count(self, other: Self, _guard: Guard<'_>, _: Guard<'_>) -> usize {
        std::future::ready(other.dropped).await;
        self.dropped.load(Ordering::Relaxed)
    }
}

fn finish<T>(mut future: Pin<&mut dyn Future<Output = T>>) -> T {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future is pending, although it waits for nothing"),
    }
}

#[test]
fn public_functions_return_boxed_futures_that_run_when_they_are_polled() {
    let mut words = Words(vec!["a", "abc"]);
    let mut longest: Boxed<'_, &str> = words.longest("ab");
    assert_eq!(finish(longest.as_mut()), "abc");
    drop(longest);
    let push: Boxed<'_, usize> = words.push("d");
    drop(push);
    assert_eq!(words.0.len(), 2);
    assert_eq!(finish(words.push("d").as_mut()), 3);
    let mut sum: Boxed<'_, i32> = sum(&[1, 2], (3, 4));
    assert_eq!(finish(sum.as_mut()), 10);
}

#[test]
fn errors_and_early_returns_end_the_future_only() {
    let parse = |words: &[&'static str]| finish(Words(words.to_vec()).parse().as_mut());
    assert_eq!((parse(&["1", "2"]), parse(&["-1", "x"])), (Ok(3), Ok(0)));
    assert!(parse(&["x", "2"]).is_err());
}

#[test]
fn all_of_each_argument_lives_until_the_future_ends() {
    let dropped = &AtomicUsize::new(0);
    let guarded = || Guarded { dropped, _guard: Guard(dropped) };
    let mut count = guarded().count(guarded(), Guard(dropped), Guard(dropped));
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    assert_eq!(finish(count.as_mut()), 0);
    assert_eq!(dropped.load(Ordering::Relaxed), 4);
}

#[test]
fn functions_with_type_parameters_are_left_as_they_are() {
    let seen = Cell::new(0);
    finish(std::pin::pin!(Words(vec!["a", "abc"]).visit(|word| seen.set(seen.get() + word.len()))));
    assert_eq!(seen.get(), 4);
}
