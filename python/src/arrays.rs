//! NumPy arrays, and whatever NumPy takes for one, copied into vectors at the border.
//!
//! Copies are made while the interpreter is attached, so no other thread changes an array while a policy reads it.

use numpy::ndarray::Dimension;
use numpy::{Element, Ix1, Ix2, PyArray, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule, PyString};

/// Numbers in C order, and the shape that they have.
pub(crate) struct Array<T> {
    pub(crate) values: Vec<T>,
    pub(crate) shape: Vec<usize>,
}

pub(crate) fn invalid<T>(message: String) -> PyResult<T> {
    Err(PyValueError::new_err(message))
}

fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    Ok(NUMPY.get_or_try_init(py, || PyModule::import(py, "numpy").map(Bound::unbind))?.bind(py))
}

/// Passes `read` the slice behind an array of `D` dimensions that can be read as it is.
fn read_slice<T: Element, D: Dimension, R>(
    object: &Bound<'_, PyAny>,
    read: impl FnOnce(&[T]) -> R,
) -> Option<R> {
    // Subclasses may mean something else by their numbers, as masked arrays do.
    if !object.is_exact_instance_of::<PyUntypedArray>() {
        return None;
    }
    let array = object.cast::<PyArray<T, D>>().ok()?;
    // A view into a record may be contiguous and not aligned.
    if !(array.data() as usize).is_multiple_of(align_of::<T>()) || !array.is_c_contiguous() {
        return None;
    }
    let array = array.try_readonly().ok()?;
    Some(read(array.as_slice().ok()?))
}

/// Copies one context, of any floating type, into `context`.
pub(crate) fn read_context(object: &Bound<'_, PyAny>, context: &mut Vec<f32>) -> PyResult<()> {
    context.clear();
    if read_floats::<Ix1>(object, context).is_some() {
        return Ok(());
    }
    let Array { values, shape } = numbers(object, "context")?;
    if shape.len() != 1 {
        return invalid(format!("the context has shape {}, expected one dimension", show(&shape)));
    }
    context.extend(values.iter().map(|value| *value as f32));
    Ok(())
}

/// Copies floats of either width without a detour.
fn read_floats<D: Dimension>(object: &Bound<'_, PyAny>, floats: &mut Vec<f32>) -> Option<()> {
    read_slice::<f32, D, _>(object, |values| floats.extend_from_slice(values)).or_else(|| {
        read_slice::<f64, D, _>(object, |values| floats.extend(values.iter().map(|value| *value as f32)))
    })
}

/// Copies numbers of any shape.
pub(crate) fn numbers(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Array<f64>> {
    let array = as_array(object)?;
    match kind(&array)? {
        'f' | 'i' | 'u' | 'b' => {}
        _ => {
            return invalid(format!(
                "the {what} has dtype {}, expected numbers; encode text and dates as numbers first",
                array.dtype()
            ));
        }
    }
    aligned(&array, "float64")
}

/// Copies whole numbers that count from 0, of any shape.
pub(crate) fn counts(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Array<u64>> {
    let array = as_array(object)?;
    let is_empty = array.is_empty();
    let found = kind(&array)?;
    if found == 'u' {
        return aligned(&array, "uint64");
    }
    // NumPy takes an empty list for one of floats.
    if found != 'i' && !is_empty {
        return invalid(format!("{what} have dtype {}, expected integers", array.dtype()));
    }
    let Array { values, shape } = aligned::<i64>(&array, "int64")?;
    match values.iter().position(|value| *value < 0) {
        Some(place) => {
            invalid(format!("{what} hold {} at index {place}, expected at least 0", values[place]))
        }
        None => Ok(Array { values: values.into_iter().map(|value| value as u64).collect(), shape }),
    }
}

/// Copies a mask of allowed actions.
pub(crate) fn mask(object: &Bound<'_, PyAny>) -> PyResult<Array<bool>> {
    let array = as_array(object)?;
    if kind(&array)? != 'b' {
        return invalid(format!("the mask of allowed actions has dtype {}, expected bool", array.dtype()));
    }
    aligned(&array, "bool")
}

/// Contexts [n, C], row by row; the number of features is checked by the policy.
pub(crate) struct Rows {
    pub(crate) values: Vec<f32>,
    pub(crate) n_rows: usize,
    pub(crate) n_features: usize,
}

impl Rows {
    /// Copies contexts of shape (n, C).
    pub(crate) fn many(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut values = Vec::new();
        if read_floats::<Ix2>(object, &mut values).is_some()
            && let [n_rows, n_features] = object.cast::<PyUntypedArray>()?.shape()[..]
        {
            return Ok(Self { values, n_rows, n_features });
        }
        let Array { values, shape } = numbers(object, "array of contexts")?;
        let [n_rows, n_features] = shape[..] else {
            return invalid(format!(
                "the array of contexts has shape {}, expected two dimensions: contexts, features",
                show(&shape)
            ));
        };
        Ok(Self { values: values.into_iter().map(|value| value as f32).collect(), n_rows, n_features })
    }

    pub(crate) fn row(&self, index: usize) -> &[f32] {
        &self.values[index * self.n_features..][..self.n_features]
    }
}

/// A shape as Python writes it.
pub(crate) fn show(shape: &[usize]) -> String {
    match shape {
        [length] => format!("({length},)"),
        _ => format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn as_array<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    if object.is_exact_instance_of::<PyUntypedArray>() {
        return Ok(object.cast::<PyUntypedArray>()?.clone());
    }
    let numpy = numpy(object.py())?;
    if numpy.getattr("ma")?.call_method1("is_masked", (object,))?.is_truthy()? {
        return invalid(
            "a value of a masked array is masked, expected a value; fill or drop it first".to_owned(),
        );
    }
    let array = numpy.getattr("asarray")?.call1((object,))?;
    let array = array.cast_into::<PyUntypedArray>()?;
    if kind(&array)? == 'O' && has_numbers(object)? {
        // A pandas frame with columns of several types, or with types of its own.
        let arguments = PyDict::new(object.py());
        arguments.set_item("dtype", "float64")?;
        arguments.set_item("na_value", f64::NAN)?;
        let array = object.call_method("to_numpy", (), Some(&arguments))?;
        return Ok(array.cast_into::<PyUntypedArray>()?);
    }
    Ok(array)
}

/// Whether this is a pandas frame or series whose columns are all numbers.
fn has_numbers(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Ok(dtypes) = object.getattr("dtypes") else { return Ok(false) };
    if !object.hasattr("to_numpy")? {
        return Ok(false);
    }
    let is_number = |dtype: &Bound<'_, PyAny>| -> PyResult<bool> {
        let kind = dtype.getattr("kind").and_then(|kind| kind.extract::<String>());
        Ok(kind.is_ok_and(|kind| ["b", "i", "u", "f"].contains(&kind.as_str())))
    };
    if dtypes.hasattr("kind")? {
        return is_number(&dtypes);
    }
    let Ok(dtypes) = dtypes.try_iter() else { return Ok(false) };
    for dtype in dtypes {
        if !is_number(&dtype?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A round that a caller gave.
pub(crate) fn round_number(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    match object.extract::<u64>() {
        Ok(round) if round <= MAX_ROUND => Ok(round),
        _ => {
            let found = object.repr().map_or("?".to_owned(), |text| text.to_string());
            invalid(format!("round is {found}, expected an integer from 0 to {MAX_ROUND}"))
        }
    }
}

/// The highest round, far from where a counter would overflow.
pub(crate) const MAX_ROUND: u64 = i64::MAX as u64;

/// Rounds of any shape.
pub(crate) fn round_numbers(object: &Bound<'_, PyAny>) -> PyResult<Array<u64>> {
    let rounds = counts(object, "rounds")?;
    match rounds.values.iter().find(|round| **round > MAX_ROUND) {
        Some(round) => invalid(format!("round is {round}, expected an integer from 0 to {MAX_ROUND}")),
        None => Ok(rounds),
    }
}

fn kind(array: &Bound<'_, PyUntypedArray>) -> PyResult<char> {
    let kind = array.dtype().getattr("kind")?;
    let kind = kind.cast::<PyString>()?.to_str()?.chars().next();
    Ok(kind.unwrap_or('O'))
}

/// Converts to a native dtype in C order, and copies.
fn aligned<T: Element + Copy>(array: &Bound<'_, PyUntypedArray>, dtype: &str) -> PyResult<Array<T>> {
    let shape = array.shape().to_vec();
    let array = numpy(array.py())?.getattr("require")?.call1((array, dtype, "CA"))?;
    let array = array.cast_into::<PyArrayDyn<T>>()?;
    let array = array.try_readonly()?;
    Ok(Array { values: array.as_slice()?.to_vec(), shape })
}
