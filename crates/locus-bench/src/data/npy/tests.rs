use proptest::prelude::*;

use super::*;

/// A file as numpy writes it, of any version.
pub(crate) fn npy(version: u8, literal: &str, values: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend_from_slice(&[version, 0]);
    match version {
        1 => bytes.extend_from_slice(&(literal.len() as u16).to_le_bytes()),
        _ => bytes.extend_from_slice(&(literal.len() as u32).to_le_bytes()),
    }
    bytes.extend_from_slice(literal.as_bytes());
    bytes.extend_from_slice(values);
    bytes
}

/// A two-dimensional file of `f64`.
pub(crate) fn npy_f64(shape: &str, values: &[f64]) -> Vec<u8> {
    let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy(1, &format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"), &values)
}

fn message(bytes: &[u8]) -> String {
    let error = read_npy(bytes, "a.npy").unwrap_err();
    assert!(error.is_invalid_data(), "{error:?}");
    error.to_string()
}

#[test]
fn versions_widths_ends_and_orders_are_read() {
    let expected = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    for version in 1..=3 {
        for (dtype, order) in [("<f4", "False"), (">f4", "True"), ("<f8", "True"), (">f8", "False")] {
            let stored = if order == "True" { [1.0, 4.0, 2.0, 5.0, 3.0, 6.0] } else { expected };
            let values: Vec<u8> = stored
                .iter()
                .flat_map(|&value| match dtype {
                    "<f4" => (value as f32).to_le_bytes().to_vec(),
                    ">f4" => (value as f32).to_be_bytes().to_vec(),
                    "<f8" => f64::to_le_bytes(value).to_vec(),
                    _ => f64::to_be_bytes(value).to_vec(),
                })
                .collect();
            let literal = format!("{{\"shape\":(2,3L) , 'descr': '{dtype}', 'fortran_order': {order}}}  \n");
            let array = read_npy(&npy(version, &literal, &values)[..], "a.npy").unwrap();
            assert_eq!(array.shape, [2, 3]);
            assert_eq!(matches!(array.values, ArrayValues::F32(_)), dtype.ends_with('4'));
            assert_eq!(array.clone().into_f32(), expected.map(|value| value as f32));
            assert_eq!(array.into_f64(), expected, "{dtype} {order} version {version}");
        }
    }
}

#[test]
fn what_is_not_understood_is_named() {
    let with = |literal: &str| message(&npy(1, literal, &[]));
    let integers = with("{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }");
    assert!(integers.contains("`<i8`") && integers.contains("astype"), "{integers}");
    let records = with("{'descr': [('a', '<f8'), ('b', '<i4')], 'fortran_order': False, 'shape': (3,), }");
    assert!(records.contains("`[('a', '<f8'), ('b', '<i4')]`"), "{records}");
    assert!(with("{'descr': '<f8', 'fortran_order': False, 'shape': (), }").contains("0 dimensions"));
    assert!(with("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3), }").contains("3 dimensions"));
    assert!(with("{'descr': '<f8', 'fortran_order': False, }").contains("lacks"));
    assert!(with("{'descr': '<f8', 'fortran_order': 1, 'shape': (1,)}").contains("found `1, 'shape"));
    assert!(with("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}").contains("a size"));
    assert!(message(&npy(4, "{}", &[])).contains("version 4"));
    assert!(message(b"PK\x03\x04").contains("not a .npy file"));
    assert!(message(b"").contains("not a .npy file"));
}

#[test]
fn integers_and_booleans_are_read_where_they_are_welcome() {
    let file = |dtype: &str, order: &str, values: &[u8]| {
        npy(1, &format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': (2, 1), }}"), values)
    };
    for (dtype, bytes, expected) in [
        ("|i1", &[0xFF, 2][..], [-1.0, 2.0]),
        ("|u1", &[0xFF, 2], [255.0, 2.0]),
        ("|b1", &[0, 1], [0.0, 1.0]),
        ("<i2", &[0xFE, 0xFF, 1, 2], [-2.0, 513.0]),
        (">i2", &[0xFF, 0xFE, 1, 2], [-2.0, 258.0]),
        ("<u2", &[0xFE, 0xFF, 1, 2], [65_534.0, 513.0]),
        ("<i4", &[0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0], [-1.0, 1.0]),
        (">u4", &[0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1], [4_294_967_295.0, 1.0]),
        ("<i8", &[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 3, 0, 0, 0, 0, 0, 0, 0], [-2.0, 3.0]),
        (">u8", &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7], [4_294_967_296.0, 7.0]),
    ] {
        let good = file(dtype, "False", bytes);
        let (array, is_whole) = read_npy_any(&good[..], "a.npy").unwrap();
        assert_eq!((&array.shape[..], is_whole), (&[2, 1][..], true), "{dtype}");
        assert_eq!(array.into_f64(), expected, "{dtype}");
        assert!((0..good.len()).all(|cut| read_npy_any(&good[..cut], "a.npy").is_err()));
        assert!(read_npy_any(&[&good[..], b"x"].concat()[..], "a.npy").is_err());
        // The curves of a run are floats, and nothing else is taken for one.
        assert!(read_npy(&good[..], "a.npy").is_err());
    }
    let columns = npy(1, "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 2), }", &[1, 3, 2, 4]);
    assert_eq!(read_npy_any(&columns[..], "a.npy").unwrap().0.into_f64(), [1.0, 2.0, 3.0, 4.0]);
    let (floats, is_whole) = read_npy_any(&npy_f64("(2,)", &[1.0, 2.0])[..], "a.npy").unwrap();
    assert_eq!((floats.into_f64(), is_whole), (vec![1.0, 2.0], false));
    for dtype in ["<f2", "<c8", "|S3", "|O", "<U4", "<M8", "|i2", "i4", "é", ""] {
        let message = read_npy_any(&file(dtype, "False", &[0; 16])[..], "a.npy").unwrap_err().to_string();
        assert!(
            message.contains(&format!("`{dtype}`, expected floats of 4 or 8 bytes, integers")),
            "{message}"
        );
    }
}

#[test]
fn cut_long_and_boastful_files_are_refused() {
    let good = npy_f64("(2, 2)", &[1.0, 2.0, 3.0, 4.0]);
    assert!(read_npy(&good[..], "a.npy").is_ok());
    for cut in 0..good.len() {
        message(&good[..cut]);
    }
    assert!(message(&good[..good.len() - 1]).contains("after 3 of 4 values"));
    assert!(message(&[&good[..], b"x"].concat()).contains("more bytes"));
    // Petabytes, none of which is there; and a product beyond any integer.
    assert!(message(&npy_f64("(1000000, 100000000)", &[1.0])).contains("after 1 of 100000000000000"));
    assert!(message(&npy_f64("(4294967296, 4294967296, )", &[])).contains("more values than memory"));
    assert!(message(&npy_f64("(99999999999999999999999,)", &[])).contains("a size"));
    let mut long = npy(2, "{", &[]);
    long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(message(&long).contains("4294967295 bytes"));
}

#[test]
fn headers_are_written_as_numpy_writes_them() {
    let mut bytes = Vec::new();
    write_npy(&mut bytes, &[1_u16, 515]).unwrap();
    let text = b"{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }";
    assert_eq!(bytes[..8], *b"\x93NUMPY\x01\x00");
    assert_eq!(bytes[8..10], [118, 0]);
    assert_eq!(bytes[10..10 + text.len()], *text);
    assert!(bytes[10 + text.len()..127].iter().all(|&byte| byte == b' '));
    assert_eq!(bytes[127..], *b"\n\x01\x00\x03\x02");
    // It is no array of real numbers.
    assert!(message(&bytes).contains("`<u2`"));
}

#[test]
fn whole_numbers_are_read_in_one_dimension_alone() {
    let file = |dtype: &str, shape: &str, values: &[u8]| {
        npy(1, &format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"), values)
    };
    let read = |bytes: &[u8]| read_npy_u32(bytes, "a.npy").map_err(|error| error.to_string());
    for (dtype, values) in [
        ("<u2", &[1, 0, 3, 2][..]),
        (">u2", &[0, 1, 2, 3]),
        ("<u4", &[1, 0, 0, 0, 3, 2, 0, 0]),
        (">u4", &[0, 0, 0, 1, 0, 0, 2, 3]),
    ] {
        let good = file(dtype, "(2,)", values);
        assert_eq!(read(&good).unwrap(), [1, 515], "{dtype}");
        assert!((0..good.len()).all(|cut| read(&good[..cut]).is_err()));
        assert!(read(&[&good[..], b"x"].concat()).unwrap_err().contains("more bytes"));
    }
    assert!(read(&file("<u2", "(1, 2)", &[0; 4])).unwrap_err().contains("2 dimensions, expected 1"));
    for dtype in ["<f8", "<i4", "|u1", "<u8"] {
        let message = read(&file(dtype, "(1,)", &[0; 8])).unwrap_err();
        assert!(message.contains(&format!("`{dtype}`")) && message.contains("uint32"), "{message}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(bits in proptest::collection::vec(any::<u64>(), 0..200)) {
        let wide: Vec<f64> = bits.iter().map(|&bits| f64::from_bits(bits)).collect();
        let narrow: Vec<f32> = bits.iter().map(|&bits| f32::from_bits(bits as u32)).collect();
        let mut bytes = Vec::new();
        write_npy(&mut bytes, &wide).unwrap();
        let read = read_npy(&bytes[..], "a.npy").unwrap();
        prop_assert_eq!(&read.shape, &[wide.len()]);
        prop_assert!(read.into_f64().iter().zip(&wide).all(|(a, b)| a.to_bits() == b.to_bits()));
        bytes.clear();
        write_npy(&mut bytes, &narrow).unwrap();
        let read = read_npy(&bytes[..], "a.npy").unwrap().into_f32();
        prop_assert_eq!(read.len(), narrow.len());
        prop_assert!(read.iter().zip(&narrow).all(|(a, b)| a.to_bits() == b.to_bits()));
        let whole: Vec<u32> = bits.iter().map(|&bits| bits as u32).collect();
        bytes.clear();
        write_npy(&mut bytes, &whole).unwrap();
        prop_assert_eq!(read_npy_u32(&bytes[..], "a.npy").unwrap(), whole);
        let short: Vec<u16> = bits.iter().map(|&bits| bits as u16).collect();
        bytes.clear();
        write_npy(&mut bytes, &short).unwrap();
        let read = read_npy_u32(&bytes[..], "a.npy").unwrap();
        prop_assert!(read.iter().copied().eq(short.iter().map(|&number| u32::from(number))));
    }

    #[test]
    fn no_bytes_panic(
        version in 0_u8..5,
        literal in r"[{}()\[\]'\x22:, 0-9LTruFalsedch<>f48_é]{0,60}|\{'descr': '[<>](f[48]|[iu][1248])', 'fortran_order': (True|False), 'shape': \([0-9]{0,20},[0-9]{0,20}\), \}",
        values in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let file = npy(version, &literal, &values);
        if let Ok(array) = read_npy(&file[..], "a.npy") {
            prop_assert_eq!(array.shape.iter().product::<usize>(), array.into_f64().len());
        }
        if let Ok(whole) = read_npy_u32(&file[..], "a.npy") {
            prop_assert!(2 * whole.len() <= values.len());
        }
        if let Ok((array, _)) = read_npy_any(&file[..], "a.npy") {
            prop_assert_eq!(array.shape.iter().product::<usize>(), array.into_f64().len());
        }
        let _ = read_npy(&values[..], "a.npy");
        let _ = read_npy_u32(&values[..], "a.npy");
    }
}
