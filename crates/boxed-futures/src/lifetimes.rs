//! Names the elided lifetimes of a signature by the rules of the language, and bounds everything that the future captures
//! by `'boxed`.

use proc_macro2::Span;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Error, FnArg, GenericArgument, GenericParam, Lifetime, ParenthesizedGenericArguments, Receiver,
    ReturnType, Signature, TypeReference, parse_quote,
};

/// Which lifetime the compiler would infer for an elided one.
enum Elided {
    /// In an argument: a new lifetime for each.
    New,
    /// In the return type: that of a reference to `self`, or the only one of the arguments. `None` if there is neither.
    Returned(Option<Lifetime>),
}

/// Names lifetimes that are elided.
struct Namer {
    elided: Elided,
    /// The lifetimes that were added to the signature.
    added: Vec<Lifetime>,
    /// All lifetimes of the types that were visited, in their order.
    seen: Vec<Lifetime>,
    is_ambiguous: bool,
}

pub(crate) fn name_all(signature: &mut Signature) -> syn::Result<()> {
    let mut namer = Namer { elided: Elided::New, added: Vec::new(), seen: Vec::new(), is_ambiguous: false };
    for input in &mut signature.inputs {
        match input {
            FnArg::Receiver(receiver) => namer.visit_receiver_mut(receiver),
            FnArg::Typed(argument) => namer.visit_type_mut(&mut argument.ty),
        }
    }
    let of_self = signature.receiver().and_then(|receiver| receiver.reference.as_ref());
    let of_self = of_self.and_then(|(_, lifetime)| lifetime.clone());
    let only = match &namer.seen[..] {
        [first, others @ ..] if others.iter().all(|other| other == first) => Some(first.clone()),
        _ => None,
    };
    namer.elided = Elided::Returned(of_self.or(only));
    if let ReturnType::Type(_, output) = &mut signature.output {
        namer.visit_type_mut(output);
    }
    if namer.is_ambiguous {
        return Err(Error::new_spanned(
            &signature.output,
            "name the lifetime: the arguments have several, or none",
        ));
    }
    bound(signature, namer.added);
    Ok(())
}

/// Declares the added lifetimes and `'boxed`, the lifetime of the future, which all others outlive.
fn bound(signature: &mut Signature, added: Vec<Lifetime>) {
    let declared = signature.generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Lifetime(parameter) => Some(parameter.lifetime.clone()),
        GenericParam::Type(_) | GenericParam::Const(_) => None,
    });
    let outlive: Vec<Lifetime> = declared.chain(added.iter().cloned()).collect();
    let has_receiver = signature.receiver().is_some();
    let bounds = signature.generics.make_where_clause();
    for name in outlive {
        bounds.predicates.push(parse_quote!(#name: 'boxed));
    }
    if has_receiver {
        bounds.predicates.push(parse_quote!(Self: 'boxed));
    }
    for name in added.into_iter().rev() {
        signature.generics.params.insert(0, parse_quote!(#name));
    }
    signature.generics.params.insert(0, parse_quote!('boxed));
}

impl Namer {
    /// Returns the lifetime for an elided one.
    fn next(&mut self) -> Lifetime {
        if let Elided::Returned(lifetime) = &self.elided {
            self.is_ambiguous |= lifetime.is_none();
            return lifetime.clone().unwrap_or_else(|| Lifetime::new("'static", Span::call_site()));
        }
        let lifetime = Lifetime::new(&format!("'elided{}", self.added.len()), Span::call_site());
        self.added.push(lifetime.clone());
        lifetime
    }
}

impl VisitMut for Namer {
    fn visit_receiver_mut(&mut self, receiver: &mut Receiver) {
        if let Some((_, lifetime)) = &mut receiver.reference {
            if lifetime.is_none() {
                *lifetime = Some(self.next());
            }
            let (lifetime, mutability) = (lifetime.clone(), receiver.mutability);
            *receiver.ty = parse_quote!(&#lifetime #mutability Self);
            self.seen.extend(lifetime);
        }
    }

    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        if reference.lifetime.is_none() {
            reference.lifetime = Some(self.next());
        }
        self.seen.extend(reference.lifetime.clone());
        visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_generic_argument_mut(&mut self, argument: &mut GenericArgument) {
        if let GenericArgument::Lifetime(lifetime) = argument {
            if lifetime.ident == "_" {
                *lifetime = self.next();
            }
            self.seen.push(lifetime.clone());
        }
        visit_mut::visit_generic_argument_mut(self, argument);
    }

    /// Lifetimes within `Fn(&T)` belong to its calls.
    fn visit_parenthesized_generic_arguments_mut(&mut self, _: &mut ParenthesizedGenericArguments) {}
}
