//! `#[boxed_futures]` on an `impl` block makes its public async functions return boxed futures.
//!
//! rustc compiles the body of an async function not where it is defined but in every crate that polls its future. A
//! boxed future is polled through its vtable, which the compiler emits where the box is created, so the body is compiled
//! once, in the crate of the `impl` block. It costs one allocation per call. The rewriting of lifetimes is the one of the
//! crate async-trait, which does the same for traits only.

mod lifetimes;

use proc_macro::TokenStream;
use proc_macro2::Span;
use quote::{format_ident, quote};
use syn::visit::Visit;
use syn::{
    Block, Error, FnArg, GenericParam, ImplItem, Item, ItemImpl, Pat, ReturnType, Signature, Stmt,
    TypeImplTrait, Visibility, parse_macro_input, parse_quote,
};

/// Makes a public async function without type parameters, or every one of an `impl` block, return `Pin<Box<dyn Future<Output = …> + Send + '_>>`.
/// Where there is no such function, it is an error.
#[proc_macro_attribute]
pub fn boxed_futures(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut item = parse_macro_input!(item as Item);
    let rewritten = match &mut item {
        Item::Fn(function) => rewrite(&function.vis, &mut function.sig, &mut function.block),
        Item::Impl(block) => rewrite_all(block),
        other => Err(Error::new_spanned(other, "neither a function nor an `impl` block")),
    };
    let nothing =
        "there is no public async function without type parameters here: the attribute has no effect";
    match rewritten {
        Ok(true) => quote!(#item).into(),
        Ok(false) => Error::new(Span::call_site(), nothing).into_compile_error().into(),
        Err(error) => error.into_compile_error().into(),
    }
}

/// Returns whether a function was rewritten.
fn rewrite_all(block: &mut ItemImpl) -> syn::Result<bool> {
    let mut is_any_rewritten = false;
    for item in &mut block.items {
        if let ImplItem::Fn(function) = item {
            is_any_rewritten |= rewrite(&function.vis, &mut function.sig, &mut function.block)?;
        }
    }
    Ok(is_any_rewritten)
}

/// Returns whether a function has type parameters. Such a function is compiled in the crates that call it, boxed or not.
fn is_generic(signature: &Signature) -> bool {
    #[derive(Default)]
    struct ImplTrait(bool);
    impl Visit<'_> for ImplTrait {
        fn visit_type_impl_trait(&mut self, _: &TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut arguments = ImplTrait::default();
    signature.inputs.iter().for_each(|input| arguments.visit_fn_arg(input));
    let mut parameters = signature.generics.params.iter();
    arguments.0 || parameters.any(|parameter| !matches!(parameter, GenericParam::Lifetime(_)))
}

/// Returns whether the function was rewritten.
fn rewrite(visibility: &Visibility, signature: &mut Signature, block: &mut Block) -> syn::Result<bool> {
    if signature.asyncness.is_none() || !matches!(visibility, Visibility::Public(_)) || is_generic(signature)
    {
        return Ok(false);
    }
    signature.asyncness = None;
    lifetimes::name_all(signature)?;
    let output: syn::Type = match &signature.output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, output) => (**output).clone(),
    };
    signature.output = parse_quote! {
        -> ::core::pin::Pin<::std::boxed::Box<
            dyn ::core::future::Future<Output = #output> + ::core::marker::Send + 'boxed
        >>
    };
    let captures = capture_arguments(signature);
    let statements = &block.stmts;
    *block = parse_quote!({
        ::std::boxed::Box::pin(async move {
            // Without it, the type of `?` and of early returns could not be inferred.
            if let ::core::option::Option::Some(__returned) = ::core::option::Option::None::<#output> {
                return __returned;
            }
            #(#captures)*
            #(#statements)*
        })
    });
    Ok(true)
}

/// Returns statements that make the future own each argument until it ends, as an async function does. An `async move`
/// block captures only what its body names: an argument that is not used, and fields of others, would be dropped before
/// the future is polled for the first time. A guard would be released too early.
fn capture_arguments(signature: &mut Signature) -> Vec<Stmt> {
    let mut captures = Vec::new();
    for (number, input) in signature.inputs.iter_mut().enumerate() {
        match input {
            // Naming all of `self` captures all of it.
            FnArg::Receiver(_) => captures.push(parse_quote!(let _ = &self;)),
            FnArg::Typed(argument) => {
                let name = format_ident!("__argument{number}");
                let pattern = &*argument.pat;
                captures.push(parse_quote!(let #name = #name;));
                if !matches!(pattern, Pat::Wild(_)) {
                    captures.push(parse_quote!(let #pattern = #name;));
                }
                *argument.pat = parse_quote!(#name);
            }
        }
    }
    captures
}
